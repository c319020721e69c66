%% A function takes one datagram off and returns the rest, as parsers do that are made of functions.
-module(rule_helper).
-export([count/1]).

count(Binary) -> count(Binary, 0).

count(<<>>, Count) -> Count;
count(Binary, Count) ->
    {_Type, _Size, Rest} = datagram(Binary),
    count(Rest, Count + 1).

datagram(<<Type:32, Size:32, Rest/binary>>) -> {Type, Size, Rest}.
