// Placements of asynchronous collectives and transfers.

#include "simulator/place_check/testing/cases.h"

namespace mallocmuzero::place_check {

const PlacedCase kGather = {"gather",
                            R"(
entry main
  x = f32[512] parameter() number=0
  w = f32[1024] parameter() number=1
  shard = f32[512] negate(x)
  gs = (f32[512], f32[1024]) all-gather-start(shard)
  other = f32[1024] negate(w)
  late = f32[512] negate(shard)
  gd = f32[1024] all-gather-done(gs)
  sum = f32[1024] add(gd, other)
  ROOT r = (f32[1024], f32[512]) tuple(sum, late)
)",
                            R"(
entry main
  x = f32[512] parameter() number=0
  w = f32[1024] parameter() number=1
  shard = f32[512]S1 negate(x)
  gs = (f32[512]S1, f32[1024]S1) all-gather-start(shard)
  other = f32[1024] negate(w)
  late = f32[512] negate(shard)
  gd = f32[1024]S1 all-gather-done(gs)
  sum = f32[1024] add(gd, other)
  ROOT r = (f32[1024], f32[512]) tuple(sum, late)
)"};

const PlacedCase kGatherChain = {"gather_chain",
                                 R"(
computation begin
  b.p = f32[512] parameter() number=0
  b.g = f32[1024] all-gather(b.p)
  ROOT b.r = (f32[512], f32[1024]) custom-call(b.g) target=AsyncCollectiveStart
computation between
  m.p = f32[512] parameter() number=0
  m.q = f32[1024] parameter() number=1
  m.w = f32[1024] parameter() number=2
  m.n = f32[1024] negate(m.w)
  m.g = f32[1024] all-gather(m.p)
  ROOT m.r = (f32[1024], f32[512], f32[1024], f32[1024]) tuple(m.n, m.p, m.q, m.g)
computation finish
  e.p = f32[512] parameter() number=0
  e.q = f32[1024] parameter() number=1
  e.g = f32[1024] all-gather(e.p)
  ROOT e.r = f32[1024] custom-call(e.p, e.q, e.g) target=AsyncCollectiveDone
entry main
  x = f32[512] parameter() number=0
  w = f32[1024] parameter() number=1
  shard = f32[512] negate(x)
  s = (f32[512], f32[1024]) fusion(shard) calls=begin over=0:0
  s0 = f32[512] get-tuple-element(s) index=0
  s1 = f32[1024] get-tuple-element(s) index=1
  m = (f32[1024], f32[512], f32[1024], f32[1024]) fusion(s0, s1, w) calls=between over=0:1 over=1:2 over=1:3
  m0 = f32[1024] get-tuple-element(m) index=0
  m1 = f32[512] get-tuple-element(m) index=1
  m2 = f32[1024] get-tuple-element(m) index=2
  d = f32[1024] fusion(m1, m2) calls=finish over=1
  ROOT sum = f32[1024] add(d, m0)
)",
                                 R"(
computation begin
  b.p = f32[512]S1 parameter() number=0
  b.g = f32[1024] all-gather(b.p)
  ROOT b.r = (f32[512]S1, f32[1024]S1) custom-call(b.g) target=AsyncCollectiveStart
computation between
  m.p = f32[512]S1 parameter() number=0
  m.q = f32[1024]S1 parameter() number=1
  m.w = f32[1024] parameter() number=2
  m.n = f32[1024] negate(m.w)
  m.g = f32[1024]S1 all-gather(m.p)
  ROOT m.r = (f32[1024], f32[512]S1, f32[1024]S1, f32[1024]S1) tuple(m.n, m.p, m.q, m.g)
computation finish
  e.p = f32[512]S1 parameter() number=0
  e.q = f32[1024]S1 parameter() number=1
  e.g = f32[1024] all-gather(e.p)
  ROOT e.r = f32[1024]S1 custom-call(e.p, e.q, e.g) target=AsyncCollectiveDone
entry main
  x = f32[512] parameter() number=0
  w = f32[1024] parameter() number=1
  shard = f32[512]S1 negate(x)
  s = (f32[512]S1, f32[1024]S1) fusion(shard) calls=begin over=0:0
  s0 = f32[512]S1 get-tuple-element(s) index=0
  s1 = f32[1024]S1 get-tuple-element(s) index=1
  m = (f32[1024], f32[512]S1, f32[1024]S1, f32[1024]S1) fusion(s0, s1, w) calls=between over=0:1 over=1:2 over=1:3
  m0 = f32[1024] get-tuple-element(m) index=0
  m1 = f32[512]S1 get-tuple-element(m) index=1
  m2 = f32[1024]S1 get-tuple-element(m) index=2
  d = f32[1024]S1 fusion(m1, m2) calls=finish over=1
  ROOT sum = f32[1024] add(d, m0)
)"};

const PlacedCase kGatherLoop = {"gather_loop",
                                R"(
computation begin
  b.p = f32[512] parameter() number=0
  b.g = f32[1024] all-gather(b.p)
  ROOT b.r = (f32[512], f32[1024]) custom-call(b.g) target=AsyncCollectiveStart
computation between
  m.p = f32[512] parameter() number=0
  m.q = f32[1024] parameter() number=1
  m.w = f32[1024] parameter() number=2
  m.n = f32[1024] negate(m.w)
  m.g = f32[1024] all-gather(m.p)
  ROOT m.r = (f32[1024], f32[512], f32[1024], f32[1024]) tuple(m.n, m.p, m.q, m.g)
computation finish
  e.p = f32[512] parameter() number=0
  e.q = f32[1024] parameter() number=1
  e.g = f32[1024] all-gather(e.p)
  ROOT e.r = f32[1024] custom-call(e.p, e.q, e.g) target=AsyncCollectiveDone
computation body
  bp = (s32[], f32[512], f32[1024], f32[1024]) parameter() number=0
  bi = s32[] get-tuple-element(bp) index=0
  bs = f32[512] get-tuple-element(bp) index=1
  bd = f32[1024] get-tuple-element(bp) index=2
  bw = f32[1024] get-tuple-element(bp) index=3
  one = s32[] constant() value=1
  ni = s32[] add(bi, one)
  m = (f32[1024], f32[512], f32[1024], f32[1024]) fusion(bs, bd, bw) calls=between over=0:1 over=1:2 over=1:3
  m0 = f32[1024] get-tuple-element(m) index=0
  m1 = f32[512] get-tuple-element(m) index=1
  m2 = f32[1024] get-tuple-element(m) index=2
  ROOT bt = (s32[], f32[512], f32[1024], f32[1024]) tuple(ni, m1, m2, m0)
computation condition
  cp = (s32[], f32[512], f32[1024], f32[1024]) parameter() number=0
  ci = s32[] get-tuple-element(cp) index=0
  two = s32[] constant() value=2
  ROOT less = pred[] compare(ci, two)
entry main
  x = f32[512] parameter() number=0
  w = f32[1024] parameter() number=1
  zero = s32[] constant() value=0
  count = s32[] copy(zero)
  shard = f32[512] negate(x)
  first = f32[1024] negate(w)
  s = (f32[512], f32[1024]) fusion(shard) calls=begin over=0:0
  s0 = f32[512] get-tuple-element(s) index=0
  s1 = f32[1024] get-tuple-element(s) index=1
  t = (s32[], f32[512], f32[1024], f32[1024]) tuple(count, s0, s1, first)
  loop = (s32[], f32[512], f32[1024], f32[1024]) while(t) calls=body,condition
  l1 = f32[512] get-tuple-element(loop) index=1
  l2 = f32[1024] get-tuple-element(loop) index=2
  l3 = f32[1024] get-tuple-element(loop) index=3
  d = f32[1024] fusion(l1, l2) calls=finish over=1
  late = f32[512] negate(shard)
  ROOT r = (f32[1024], f32[1024], f32[512]) tuple(d, l3, late)
)",
                                R"(
computation begin
  b.p = f32[512] parameter() number=0
  b.g = f32[1024] all-gather(b.p)
  ROOT b.r = (f32[512], f32[1024]) custom-call(b.g) target=AsyncCollectiveStart
computation between
  m.p = f32[512] parameter() number=0
  m.q = f32[1024] parameter() number=1
  m.w = f32[1024]S1 parameter() number=2
  m.n = f32[1024]S1 negate(m.w)
  m.g = f32[1024] all-gather(m.p)
  ROOT m.r = (f32[1024]S1, f32[512], f32[1024], f32[1024]) tuple(m.n, m.p, m.q, m.g)
computation finish
  e.p = f32[512] parameter() number=0
  e.q = f32[1024] parameter() number=1
  e.g = f32[1024] all-gather(e.p)
  ROOT e.r = f32[1024] custom-call(e.p, e.q, e.g) target=AsyncCollectiveDone
computation body
  bp = (s32[], f32[512], f32[1024], f32[1024]S1) parameter() number=0
  bi = s32[] get-tuple-element(bp) index=0
  bs = f32[512] get-tuple-element(bp) index=1
  bd = f32[1024] get-tuple-element(bp) index=2
  bw = f32[1024]S1 get-tuple-element(bp) index=3
  one = s32[] constant() value=1
  ni = s32[] add(bi, one)
  m = (f32[1024]S1, f32[512], f32[1024], f32[1024]) fusion(bs, bd, bw) calls=between over=0:1 over=1:2 over=1:3
  m0 = f32[1024]S1 get-tuple-element(m) index=0
  m1 = f32[512] get-tuple-element(m) index=1
  m2 = f32[1024] get-tuple-element(m) index=2
  ROOT bt = (s32[], f32[512], f32[1024], f32[1024]S1) tuple(ni, m1, m2, m0)
computation condition
  cp = (s32[], f32[512], f32[1024], f32[1024]S1) parameter() number=0
  ci = s32[] get-tuple-element(cp) index=0
  two = s32[] constant() value=2
  ROOT less = pred[] compare(ci, two)
entry main
  x = f32[512] parameter() number=0
  w = f32[1024] parameter() number=1
  zero = s32[] constant() value=0
  count = s32[] copy(zero)
  shard = f32[512] negate(x)
  first = f32[1024]S1 negate(w)
  s = (f32[512], f32[1024]) fusion(shard) calls=begin over=0:0
  s0 = f32[512] get-tuple-element(s) index=0
  s1 = f32[1024] get-tuple-element(s) index=1
  t = (s32[], f32[512], f32[1024], f32[1024]S1) tuple(count, s0, s1, first)
  loop = (s32[], f32[512], f32[1024], f32[1024]S1) while(t) calls=body,condition
  l1 = f32[512] get-tuple-element(loop) index=1
  l2 = f32[1024] get-tuple-element(loop) index=2
  l3 = f32[1024]S1 get-tuple-element(loop) index=3
  d = f32[1024] fusion(l1, l2) calls=finish over=1
  late = f32[512] negate(shard)
  ls = (f32[1024], f32[1024]S1, u32[]S2) copy-start(l3)
  ld = f32[1024] copy-done(ls)
  ROOT r = (f32[1024], f32[1024], f32[512]) tuple(d, ld, late)
)"};

const PlacedCase kPermute = {"permute",
                             R"(
entry main
  x = f32[1024] parameter() number=0
  w = f32[1024] parameter() number=1
  i = s32[] parameter() number=2
  from = f32[1024] negate(x)
  into = f32[1024] negate(w)
  at = (s32[]) tuple(i)
  ps = (f32[1024], f32[1024], u32[], u32[]) collective-permute-start(from, into, at, at)
  other = f32[1024] negate(w)
  late = f32[1024] negate(from)
  pd = f32[1024] collective-permute-done(ps)
  sum = f32[1024] add(pd, other)
  ROOT r = (f32[1024], f32[1024]) tuple(sum, late)
)",
                             R"(
entry main
  x = f32[1024] parameter() number=0
  w = f32[1024] parameter() number=1
  i = s32[] parameter() number=2
  from = f32[1024]S1 negate(x)
  into = f32[1024]S1 negate(w)
  at = (s32[]) tuple(i)
  ps = (f32[1024]S1, f32[1024]S1, u32[], u32[]) collective-permute-start(from, into, at, at)
  other = f32[1024] negate(w)
  late = f32[1024] negate(from)
  pd = f32[1024]S1 collective-permute-done(ps)
  sum = f32[1024] add(pd, other)
  ROOT r = (f32[1024], f32[1024]) tuple(sum, late)
)"};

const PlacedCase kPermuteOfTwo = {"permute_of_two",
                                  R"(
entry main
  x = f32[1024] parameter() number=0
  w = f32[512] parameter() number=1
  i = s32[] parameter() number=2
  from0 = f32[1024] negate(x)
  from1 = f32[512] negate(w)
  into0 = f32[1024] negate(x)
  into1 = f32[512] negate(w)
  from = (f32[1024], f32[512]) tuple(from0, from1)
  into = (f32[1024], f32[512]) tuple(into0, into1)
  at0 = (s32[]) tuple(i)
  at = ((s32[]), (s32[])) tuple(at0, at0)
  ps = ((f32[1024], f32[512]), (f32[1024], f32[512]), u32[], u32[]) collective-permute-start(from, into, at, at)
  other = f32[512] negate(w)
  pd = (f32[1024], f32[512]) collective-permute-done(ps)
  pd0 = f32[1024] get-tuple-element(pd) index=0
  pd1 = f32[512] get-tuple-element(pd) index=1
  sum = f32[512] add(pd1, other)
  ROOT r = (f32[1024], f32[512]) tuple(pd0, sum)
)",
                                  R"(
entry main
  x = f32[1024] parameter() number=0
  w = f32[512] parameter() number=1
  i = s32[] parameter() number=2
  from0 = f32[1024]S1 negate(x)
  from1 = f32[512] negate(w)
  into0 = f32[1024] negate(x)
  into1 = f32[512]S1 negate(w)
  from = (f32[1024]S1, f32[512]) tuple(from0, from1)
  into = (f32[1024], f32[512]S1) tuple(into0, into1)
  at0 = (s32[]) tuple(i)
  at = ((s32[]), (s32[])) tuple(at0, at0)
  ps = ((f32[1024]S1, f32[512]), (f32[1024], f32[512]S1), u32[], u32[]) collective-permute-start(from, into, at, at)
  other = f32[512] negate(w)
  pd = (f32[1024], f32[512]S1) collective-permute-done(ps)
  pd0 = f32[1024] get-tuple-element(pd) index=0
  pd1 = f32[512]S1 get-tuple-element(pd) index=1
  sum = f32[512] add(pd1, other)
  ROOT r = (f32[1024], f32[512]) tuple(pd0, sum)
)"};

const PlacedCase kTransfer = {"transfer",
                              R"(
entry main
  x = f32[1024] parameter() number=0
  w = f32[1024] parameter() number=1
  out = f32[1024] negate(x)
  t = token[] after-all()
  s = (f32[1024], u32[], token[]) send(out, t)
  r = (f32[1024], u32[], token[]) recv(t)
  other = f32[1024] negate(w)
  sd = token[] send-done(s)
  rd = (f32[1024], token[]) recv-done(r)
  came = f32[1024] get-tuple-element(rd) index=0
  ROOT sum = f32[1024] add(came, other)
)",
                              R"(
entry main
  x = f32[1024] parameter() number=0
  w = f32[1024] parameter() number=1
  out = f32[1024] negate(x)
  t = token[] after-all()
  s = (f32[1024], u32[], token[]) send(out, t)
  r = (f32[1024], u32[], token[]) recv(t)
  other = f32[1024]S1 negate(w)
  sd = token[] send-done(s)
  rd = (f32[1024], token[]) recv-done(r)
  came = f32[1024] get-tuple-element(rd) index=0
  ROOT sum = f32[1024] add(came, other)
)"};

}  // namespace mallocmuzero::place_check
