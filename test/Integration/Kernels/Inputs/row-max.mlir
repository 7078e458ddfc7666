!seq = tensor<?x?x?x8xf32>

// Scores of either sign: the largest of a row may be negative.
polyattn.attention @largest(%q: !seq, %k: !seq, %v: !seq) -> (o: !seq) {
  %a = read %q : !seq -> [8]
  %b = read %k : !seq -> [8]
  %c = read %v : !seq -> [8]
  %o = attend query %a key %b value %c causal
      normalize <bias, bias = 200.0, eps = 0.5, eps_mode = row_max>
      {signed_scores, grouping = #polyattn.grouping<block>} : [8], [8], [8]
  return %o : [8]
}
