%% What a node of the Erlang VM does while others work in it: how late a process wakes that is due
%% every few milliseconds, how many processes wait for each kind of scheduler, what schedulers spend
%% their time on, which processes held one for long, what collections took, what calls are charged.
%%
%%   strobe_agent:start(10),                      % due every 10 ms
%%   Result = strobe_agent:call(fun() -> ... end),
%%   strobe_agent:stop().                         % prints all of it, as lines NAME NUMBER
%%
%% A line of a value that has a time is NAME NUMBER at NANOSECONDS, counted from the start. Where
%% nobody can run, nothing is sampled: the times then have a gap, which is what is to be seen.
-module(strobe_agent).
-export([start/1, call/1, stop/0]).

%% A process that holds a scheduler for so many milliseconds is reported.
-define(LONG, 2).

start(EveryMs) ->
    Self = self(),
    Agent = spawn(fun() -> begin_with(EveryMs * 1_000_000, Self) end),
    register(?MODULE, Agent),
    receive {Agent, ready} -> ok end.

%% What a call returns; what it took and what it was charged go to the agent.
call(Function) ->
    {reductions, Before} = process_info(self(), reductions),
    Begin = now_ns(),
    Result = Function(),
    End = now_ns(),
    {reductions, After} = process_info(self(), reductions),
    ?MODULE ! {call, End - Begin, After - Before},
    Result.

stop() ->
    Agent = whereis(?MODULE),
    Watch = monitor(process, Agent),
    Agent ! stop,
    receive {'DOWN', Watch, process, Agent, Why} -> Why end.

now_ns() -> erlang:monotonic_time(nanosecond).

begin_with(Every, Starter) ->
    process_flag(priority, max),
    Begin = now_ns(),
    Sampler = spawn_link(fun() -> process_flag(priority, max), sample(Begin, Every, []) end),
    % As any other process: it is the one whose lateness counts.
    Late = spawn_link(fun() -> late(Begin, Begin + Every, Every, []) end),
    erlang:system_monitor(self(), [{long_schedule, ?LONG}]),
    erlang:system_flag(microstate_accounting, reset),
    erlang:system_flag(microstate_accounting, true),
    {Collections, Words, _} = erlang:statistics(garbage_collection),
    {Reductions, _} = erlang:statistics(exact_reductions),
    Starter ! {self(), ready},
    {Calls, Long} = collect(Begin, [], []),
    erlang:system_flag(microstate_accounting, false),
    {CollectionsNow, WordsNow, _} = erlang:statistics(garbage_collection),
    {ReductionsNow, _} = erlang:statistics(exact_reductions),
    print([
        states(erlang:statistics(microstate_accounting)),
        {"vm-collections", CollectionsNow - Collections},
        {"vm-collected-bytes", (WordsNow - Words) * erlang:system_info(wordsize)},
        {"vm-reductions", ReductionsNow - Reductions},
        {"vm-long-schedules", length(Long)},
        {"vm-longest-schedule-nanoseconds", lists:max([0 | [Ns || {_, Ns} <- Long]])},
        [{"vm-long-schedule-nanoseconds", Ns, At} || {At, Ns} <- lists:reverse(Long)],
        [[{"vm-call-nanoseconds", Ns}, {"vm-call-reductions", N}] || {Ns, N} <- lists:reverse(Calls)],
        [{"vm-lateness-nanoseconds", Ns, At} || {At, Ns} <- asked(Late)],
        [[{"vm-run-queue", N, At}, {"vm-dirty-run-queue", Dirty, At}] || {At, N, Dirty} <- asked(Sampler)]
    ]).

%% Calls, and processes that held a scheduler for long, until it is told to stop.
collect(Begin, Calls, Long) ->
    receive
        {call, Ns, Reductions} -> collect(Begin, [{Ns, Reductions} | Calls], Long);
        {monitor, _, long_schedule, What} ->
            {timeout, Ms} = lists:keyfind(timeout, 1, What),
            collect(Begin, Calls, [{now_ns() - Begin, Ms * 1_000_000} | Long]);
        stop -> {Calls, Long}
    end.

asked(Process) ->
    Process ! {stop, self()},
    receive {Process, All} -> lists:reverse(All) end.

%% How many processes wait for a scheduler, and how many for a dirty one.
sample(Begin, Every, All) ->
    receive {stop, To} -> To ! {self(), All}
    after Every div 1_000_000 ->
        Waiting = erlang:statistics(total_run_queue_lengths),
        Dirty = erlang:statistics(total_run_queue_lengths_all) - Waiting,
        sample(Begin, Every, [{now_ns() - Begin, Waiting, max(0, Dirty)} | All])
    end.

%% Lateness counts from the schedule: one long sleep is many late times.
late(Begin, Due, Every, All) ->
    Wait = max(0, Due - now_ns()),
    receive {stop, To} -> To ! {self(), All}
    after Wait div 1_000_000 ->
        case now_ns() of
            Now when Now >= Due ->
                Missed = (Now - Due) div Every + 1,
                Times = [Due + N * Every || N <- lists:seq(0, Missed - 1)],
                More = lists:foldl(fun(At, Sum) -> [{At - Begin, Now - At} | Sum] end, All, Times),
                late(Begin, Due + Missed * Every, Every, More);
            _ ->
                erlang:yield(),
                late(Begin, Due, Every, All)
        end
    end.

%% What schedulers spent their time on, each kind together.
states(Threads) ->
    [
        begin
            Times = [maps:get(counters, Thread) || #{type := Type} = Thread <- Threads, Type =:= Kind],
            Of = fun(State) -> ns(lists:sum([maps:get(State, Counters, 0) || Counters <- Times])) end,
            All = ns(lists:sum([lists:sum(maps:values(Counters)) || Counters <- Times])),
            Busy = All - Of(sleep),
            [
                {Name ++ "-busy-nanoseconds", Busy},
                {Name ++ "-collecting-nanoseconds", Of(gc)},
                {Name ++ "-asleep-nanoseconds", Of(sleep)},
                {Name ++ "-busy-percent", if All > 0 -> Busy * 100 div All; true -> 0 end}
            ]
        end
     || {Kind, Name} <- [{scheduler, "vm-schedulers"}, {dirty_cpu_scheduler, "vm-dirty-schedulers"}]
    ].

ns(Ticks) -> erlang:convert_time_unit(Ticks, perf_counter, nanosecond).

%% In one piece: a line at a time would go to another process and back each time.
print(All) ->
    io:put_chars([line(Each) || Each <- lists:flatten(named(All))]).

%% Names are lists as well, and not to be flattened.
named(All) when is_list(All) -> [named(Each) || Each <- All];
named({Name, Number}) -> {list_to_binary(Name), Number};
named({Name, Number, At}) -> {list_to_binary(Name), Number, At}.

line({Name, Number}) -> [Name, $\s, integer_to_list(Number), $\n];
line({Name, Number, At}) -> [Name, $\s, integer_to_list(Number), " at ", integer_to_list(At), $\n].
