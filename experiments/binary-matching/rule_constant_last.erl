%% Rule 2 kept: the binary first.
-module(rule_constant_last).
-export([count/1]).

-define(A, 0).

count(Binary) -> datagrams(Binary, 0).

datagrams(<<>>, Count) -> Count;
datagrams(<<Type:32, Size:32, Rest/binary>>, Count) -> datagram(Rest, Type, Size, Count).

datagram(<<Binary/binary>>, ?A, Size, Count) ->
    <<_:Size/binary, Rest/binary>> = Binary,
    datagrams(Rest, Count + 1).
