// The core's other services: the converter, PWM, a tone, external interrupts, the serial port both ways, and an EEPROM on
// the I2C bus through the Wire library.

#include <Wire.h>

const uint8_t EEPROM_ADDRESS = 0x50;
const uint8_t TONE_PIN = 8;
const uint8_t PWM_PIN = 5;

volatile unsigned int edges;

void on_edge() {
  edges++;
}

void write_eeprom(unsigned int address, const char *text) {
  Wire.beginTransmission(EEPROM_ADDRESS);
  Wire.write(address >> 8);
  Wire.write(address & 0xff);
  Wire.print(text);
  Serial.print("written ");
  Serial.println(Wire.endTransmission());
  unsigned int asked = 0;
  do {
    asked++;
    Wire.beginTransmission(EEPROM_ADDRESS);
  } while (Wire.endTransmission() != 0);
  Serial.println(asked > 1 ? "it was busy" : "it was not busy");
}

void read_eeprom(unsigned int address, uint8_t count) {
  Wire.beginTransmission(EEPROM_ADDRESS);
  Wire.write(address >> 8);
  Wire.write(address & 0xff);
  Wire.endTransmission(false);
  Wire.requestFrom(EEPROM_ADDRESS, count);
  Serial.print("read ");
  while (Wire.available()) {
    Serial.write(Wire.read());
  }
  Serial.println();
}

void setup() {
  Serial.begin(9600);
  attachInterrupt(digitalPinToInterrupt(2), on_edge, RISING);
  Wire.begin();
  Wire.setClock(400000);
  write_eeprom(0x0120, "kept");
  read_eeprom(0x0120, 4);
  Serial.print("analog ");
  Serial.print(analogRead(A0));
  Serial.print(' ');
  Serial.println(analogRead(A1));
  analogWrite(PWM_PIN, 64);
  tone(TONE_PIN, 1000);
  delay(20);
  noTone(TONE_PIN);
  Serial.print("edges ");
  Serial.println(edges);
}

void loop() {
  if (Serial.available()) {
    Serial.write(toupper(Serial.read()));
  }
}
