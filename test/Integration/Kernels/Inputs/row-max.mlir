// Scores of either sign: the largest of a row may be negative.
polyattn.attention @largest(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x8xf32>)
    -> (o: tensor<?x?x?x8xf32>) {
  %a = read %q : tensor<?x?x?x8xf32> -> [8]
  %b = read %k : tensor<?x?x?x8xf32> -> [8]
  %c = read %v : tensor<?x?x?x8xf32> -> [8]
  %o = attend query %a key %b value %c causal
      normalize <bias, bias = 200.0, eps = 0.5, eps_mode = row_max>
      {signed_scores, grouping = #polyattn.grouping<block>} : [8], [8], [8]
  return %o : [8]
}
