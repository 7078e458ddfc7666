// Every normalizer under the full mask: without keys each would divide 0 by 0, or by minus infinity.

polyattn.attention @mean(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>,
    %v: tensor<?x?x?x8xf32>) -> (o: tensor<?x?x?x8xf32>) {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %o = attend query %a key %b value %c full normalize <none, reduce = mean> : [8], [8], [8]
  return %o : [8]
}
polyattn.attention @mean_of_sums(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>,
    %v: tensor<?x?x?x8xf32>) -> (o: tensor<?x?x?x8xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %a = exp %x : [8]
  %b = exp %y : [8]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %o = attend query %a key %b value %c full normalize <sum, eps = 1.0e-6, reduce = mean> : [8], [8], [8]
  return %o : [8]
}
polyattn.attention @plain_sum(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>,
    %v: tensor<?x?x?x8xf32>) -> (o: tensor<?x?x?x8xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %a = exp %x : [8]
  %b = exp %y : [8]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %o = attend query %a key %b value %c full normalize <sum, eps = 0.0> : [8], [8], [8]
  return %o : [8]
}
polyattn.attention @largest(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>,
    %v: tensor<?x?x?x8xf32>) -> (o: tensor<?x?x?x8xf32>) {
  %x = read %q : tensor<?x?x?x8xf32> -> [8]
  %y = read %k : tensor<?x?x?x8xf32> -> [8]
  %a = exp %x : [8]
  %b = exp %y : [8]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %o = attend query %a key %b value %c full
      normalize <sum, eps = 0.1, eps_mode = row_max> : [8], [8], [8]
  return %o : [8]
}
