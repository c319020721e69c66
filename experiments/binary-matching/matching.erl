%% Goes through a binary, datagram by datagram, by one of the modules rule_*, and counts what that
%% takes in a process of its own: WAY MEGABYTES. The compiler's notes on the module lie beside it.
%% `profile` counts the calls of each function of the module instead, and prints them with the notes.
-module(matching).
-export([main/0, profile/0]).

main() ->
    [Way, Megabytes] = init:get_plain_arguments(),
    Module = list_to_atom("rule_" ++ Way),
    {module, Module} = code:ensure_loaded(Module),
    Binary = binary:copy(<<0>>, list_to_integer(Megabytes) bsl 20),
    Self = self(),
    {Collections, Words, _} = erlang:statistics(garbage_collection),
    {Worker, Monitor} = spawn_opt(fun() -> Self ! work(Module, Binary) end, [monitor]),
    {Nanoseconds, Reductions, Count, Heap} =
        receive
            {'DOWN', Monitor, process, Worker, Why} when Why =/= normal -> exit(Why);
            Done -> Done
        end,
    {CollectionsAfter, WordsAfter, _} = erlang:statistics(garbage_collection),
    io:format("nanoseconds ~b~n", [max(1, Nanoseconds)]),
    io:format("reductions ~b~n", [Reductions]),
    io:format("collections ~b~n", [CollectionsAfter - Collections]),
    io:format("collected-bytes ~b~n", [(WordsAfter - Words) * erlang:system_info(wordsize)]),
    io:format("heap-bytes ~b~n", [Heap * erlang:system_info(wordsize)]),
    io:format("notes-sub-binary-created ~b~n", [notes(Module)]),
    io:format("~b datagrams~n", [Count]),
    halt(0).

work(Module, Binary) ->
    {reductions, Before} = process_info(self(), reductions),
    Begin = erlang:monotonic_time(nanosecond),
    Count = Module:count(Binary),
    Took = erlang:monotonic_time(nanosecond) - Begin,
    {reductions, After} = process_info(self(), reductions),
    {total_heap_size, Heap} = process_info(self(), total_heap_size),
    {Took, After - Before, Count, Heap}.

%% Where calls are, and what the compiler said: `place COUNT FUNCTION at FILE:LINE`, `note FILE:LINE TEXT`.
profile() ->
    [Way, Megabytes] = init:get_plain_arguments(),
    Module = list_to_atom("rule_" ++ Way),
    {module, Module} = code:ensure_loaded(Module),
    erlang:trace_pattern({Module, '_', '_'}, true, [local, call_count]),
    Module:count(binary:copy(<<0>>, list_to_integer(Megabytes) bsl 20)),
    erlang:trace_pattern({Module, '_', '_'}, pause, [local, call_count]),
    File = atom_to_list(Module) ++ ".erl",
    {ok, {_, [{abstract_code, {_, Forms}}]}} = beam_lib:chunks(code:which(Module), [abstract_code]),
    [
        io:format("place ~b ~s:~s/~b at ~s:~b~n", [Count, Module, Name, Arity, File, erl_anno:line(At)])
     || {function, At, Name, Arity, _} <- Forms,
        {call_count, Count} <- [erlang:trace_info({Module, Name, Arity}, call_count)]
    ],
    {ok, Notes} = file:read_file(filename:rootname(code:which(Module)) ++ ".notes"),
    [
        io:format("note ~s:~s ~s~n", [File, Line, Text])
     || [Line, Text] <- case re:run(Notes, "^" ++ File ++ ":(\\d+):(?:\\d+:)? Warning: (.*)$",
                                    [global, multiline, {capture, all_but_first, list}]) of
                            {match, All} -> All;
                            nomatch -> []
                        end
    ],
    halt(0).

%% How often the compiler said that it has to make a sub binary.
notes(Module) ->
    Path = filename:rootname(code:which(Module)) ++ ".notes",
    {ok, Notes} = file:read_file(Path),
    length(binary:matches(Notes, <<"BINARY CREATED">>)).
