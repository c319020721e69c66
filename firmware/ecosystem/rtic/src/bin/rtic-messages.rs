//! Software tasks that spawn each other and talk through a channel.
#![no_main]
#![no_std]

use panic_semihosting as _;

#[rtic::app(device = lm3s6965, dispatchers = [SSI0, QEI0])]
mod app {
    use cortex_m_semihosting::{debug, hprintln};
    use rtic_sync::channel::{Receiver, Sender};
    use rtic_sync::make_channel;

    const CAPACITY: usize = 3;

    #[shared]
    struct Shared {}

    #[local]
    struct Local {}

    #[init]
    fn init(_: init::Context) -> (Shared, Local) {
        let (sender, receiver) = make_channel!(u32, CAPACITY);
        consumer::spawn(receiver).expect("it does not run yet");
        producer::spawn(1, sender.clone()).expect("it does not run yet");
        steady::spawn(sender).expect("it does not run yet");
        (Shared {}, Local {})
    }

    #[task(priority = 1)]
    async fn producer(_: producer::Context, first: u32, mut sender: Sender<'static, u32, CAPACITY>) {
        for number in first..first + 8 {
            hprintln!("sends {}", number);
            sender.send(number * number).await.expect("the receiver lives");
        }
    }

    #[task(priority = 1)]
    async fn steady(_: steady::Context, mut sender: Sender<'static, u32, CAPACITY>) {
        for _ in 0..2 {
            sender.send(1000).await.expect("the receiver lives");
        }
    }

    #[task(priority = 2)]
    async fn consumer(_: consumer::Context, mut receiver: Receiver<'static, u32, CAPACITY>) {
        let mut sum = 0;
        while let Ok(number) = receiver.recv().await {
            sum += number;
            hprintln!("  receives {}, {} in all", number, sum);
        }
        hprintln!("nobody sends any more");
        debug::exit(debug::EXIT_SUCCESS);
    }
}
