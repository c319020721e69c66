-module(exor).
-export([plain/3, yielding/3, dirty/3]).
-on_load(load/0).

load() -> erlang:load_nif(filename:rootname(code:which(?MODULE)), 0).

plain(_, _, _) -> erlang:nif_error(not_loaded).
yielding(_, _, _) -> erlang:nif_error(not_loaded).
dirty(_, _, _) -> erlang:nif_error(not_loaded).
