%% Rule 2 not kept: a constant in front of the binary.
-module(rule_constant_first).
-export([count/1]).

-define(A, 0).

count(Binary) -> datagrams(Binary, 0).

datagrams(<<>>, Count) -> Count;
datagrams(<<Type:32, Size:32, Rest/binary>>, Count) -> datagram(Type, Size, Rest, Count).

datagram(?A, Size, <<Binary/binary>>, Count) ->
    <<_:Size/binary, Rest/binary>> = Binary,
    datagrams(Rest, Count + 1).
