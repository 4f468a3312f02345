package cpid_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"causeway/cpid"
)

func id(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012x", n) }

// naive is a simple reference for Merge: it uses sets and walks every path.
func naive(contexts []cpid.Context, most int, fresh string) (cpid.Context, []string, bool) {
	lists := map[string][][]string{}
	var order []string
	for _, c := range contexts {
		if c.CPID == "" {
			continue
		}
		if _, ok := lists[c.CPID]; !ok {
			order = append(order, c.CPID)
		}
		lists[c.CPID] = append(lists[c.CPID], c.Ancestors)
	}
	below := map[string]map[string]bool{} // by CPID, the other given CPIDs that it descends from
	var walk func(from, at string)
	walk = func(from, at string) {
		for _, list := range lists[at] {
			for _, ancestor := range list {
				if lists[ancestor] != nil && ancestor != at && !below[from][ancestor] {
					below[from][ancestor] = true
					walk(from, ancestor)
				}
			}
		}
	}
	isSound := true
	listed := map[string]bool{}
	for _, one := range order {
		below[one] = map[string]bool{}
		walk(one, one)
		isSound = isSound && !below[one][one]
		for ancestor := range below[one] {
			listed[ancestor] = true
		}
	}
	var heads []string
	for _, one := range order {
		if !listed[one] {
			heads = append(heads, one)
		}
	}
	if !isSound {
		found := append([]string{fresh}, order...)
		return cpid.Context{CPID: fresh, Ancestors: found[1:min(len(found), most+1)]}, order, true
	}
	found := []string{fresh}
	found = append(found, heads...)
	if len(heads) == 1 {
		found = nearestFirst([]string{heads[0]}, [][]string{heads}, map[string][][]string{heads[0]: lists[heads[0]]})
	}
	found = nearestFirst(found, [][]string{found}, lists)
	change := cpid.Context{CPID: found[0], Ancestors: found[1:min(len(found), most+1)]}
	if len(heads) == 1 {
		return change, nil, false
	}
	return change, heads, true
}

// nearestFirst reads the lists of the found CPIDs position by position. The lists of an added CPID start at the next position.
func nearestFirst(found []string, from [][]string, lists map[string][][]string) []string {
	type begun struct {
		list []string
		at   int
	}
	var all []begun
	for _, list := range from {
		for _, one := range list {
			for _, theirs := range lists[one] {
				all = append(all, begun{theirs, 0})
			}
		}
	}
	for place := 0; place < 1000; place++ {
		for _, b := range slices.Clone(all) {
			if at := place - b.at; at < len(b.list) && !slices.Contains(found, b.list[at]) {
				found = append(found, b.list[at])
				for _, theirs := range lists[b.list[at]] {
					all = append(all, begun{theirs, place + 1})
				}
			}
		}
	}
	return found
}

// drawn makes contexts from few CPIDs, so that they overlap often; some are realistic, some inconsistent.
func drawn(random *rand.Rand, most int) []cpid.Context {
	contexts := make([]cpid.Context, random.IntN(most))
	span := 2 + random.IntN(2*most)
	isOrdered := random.IntN(3) > 0
	for i := range contexts {
		own := 1 + random.IntN(span)
		c := cpid.Context{CPID: id(own)}
		for range random.IntN(6) {
			ancestor := 1 + random.IntN(span)
			if isOrdered && ancestor >= own {
				continue
			}
			c.Ancestors = append(c.Ancestors, id(ancestor))
		}
		contexts[i] = c
	}
	return contexts
}

func checkAgainstNaive(t *testing.T, contexts []cpid.Context, most int) {
	t.Helper()
	fresh := id(0xffff)
	change, sources, isNew := cpid.Merge(contexts, most, func() string { return fresh })
	wanted, wantedSources, wantedNew := naive(contexts, most, fresh)
	same := change.CPID == wanted.CPID && slices.Equal(change.Ancestors, wanted.Ancestors) &&
		slices.Equal(sources, wantedSources) && isNew == wantedNew
	if !same {
		t.Fatalf("merge of %v with %d ancestors\n gives %v %v %v\nnot   %v %v %v",
			contexts, most, change, sources, isNew, wanted, wantedSources, wantedNew)
	}
}

func TestMergeIsWhatTheNaiveModelGives(t *testing.T) {
	for seed := range uint64(10_000) {
		random := rand.New(rand.NewPCG(seed, 28))
		size := 6
		if seed%20 == 0 {
			size = 60 // more than what a merge does on the stack
		}
		checkAgainstNaive(t, drawn(random, size), random.IntN(14))
	}
}

func FuzzMerge(f *testing.F) {
	f.Add([]byte{1, 2, 0, 2, 1, 0}, uint8(10))
	f.Add([]byte{1, 2, 3, 0, 4, 3, 0, 3, 0}, uint8(3))
	f.Fuzz(func(t *testing.T, bytes []byte, most uint8) {
		if len(bytes) > 200 {
			return
		}
		var contexts []cpid.Context
		for _, list := range splitAtZero(bytes) {
			c := cpid.Context{CPID: id(int(list[0]))}
			for _, ancestor := range list[1:] {
				c.Ancestors = append(c.Ancestors, id(int(ancestor)))
			}
			contexts = append(contexts, c)
		}
		checkAgainstNaive(t, contexts, int(most%16))
	})
}

func splitAtZero(bytes []byte) (lists [][]byte) {
	for len(bytes) > 0 {
		end := slices.Index(bytes, 0)
		if end < 0 {
			end = len(bytes)
		}
		if end > 0 {
			lists = append(lists, bytes[:end])
		}
		bytes = bytes[min(end+1, len(bytes)):]
	}
	return lists
}

func FuzzAnnotations(f *testing.F) {
	f.Add(id(1), id(2)+", x,"+id(1))
	f.Add("00000000000040008000000000000001", ",,,")
	f.Fuzz(func(t *testing.T, own, list string) {
		read := cpid.Extract(map[string]string{"causeway.io/cpid": own, "causeway.io/ancestor-cpids": list}, cpid.DefaultKeys, 10)
		if read.IsZero() {
			return
		}
		again := cpid.Extract(cpid.Inject(read, nil, cpid.DefaultKeys, 10), cpid.DefaultKeys, 10)
		if again.CPID != read.CPID || !slices.Equal(again.Ancestors, read.Ancestors) || len(read.Ancestors) > 10 {
			t.Fatalf("%q %q is read as %v, and that as %v", own, list, read, again)
		}
	})
}

func TestNothingIsAllocatedWhenNothingMerges(t *testing.T) {
	contexts := twoOfWhichOneStands()
	allocations := testing.AllocsPerRun(100, func() { cpid.Merge(contexts, 10, cpid.New) })
	if allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}

func TestDerivedRootIsTheOneOfTheOtherLibraries(t *testing.T) {
	// SHA-256 of root, cluster, uid and version with zero bytes between, with the version and variant of RFC 9562.
	if got, want := cpid.DerivedRoot("mine", "u1", "7"), "42ee762a-5d67-8d29-a281-3711a34e2d82"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}

func twoOfWhichOneStands() []cpid.Context {
	var list []string
	for n := range 10 {
		list = append(list, id(100+n))
	}
	return []cpid.Context{
		{CPID: id(1), Ancestors: list},
		{CPID: id(100), Ancestors: append(slices.Clone(list[1:]), id(200))},
	}
}

func BenchmarkMerge(b *testing.B) {
	fresh := id(9)
	stands := twoOfWhichOneStands()
	merging := []cpid.Context{stands[0], {CPID: id(2), Ancestors: append([]string{id(7)}, stands[1].Ancestors[:9]...)}}
	var thousand []cpid.Context
	for n := range 1000 {
		thousand = append(thousand, cpid.Context{CPID: id(1000 + n), Ancestors: stands[0].Ancestors})
	}
	for _, bench := range []struct {
		name     string
		contexts []cpid.Context
	}{{"one of two stands", stands}, {"two merge", merging}, {"a thousand merge", thousand}} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				cpid.Merge(bench.contexts, 10, func() string { return fresh })
			}
		})
	}
}

func BenchmarkExtractAndInject(b *testing.B) {
	annotations := cpid.Inject(twoOfWhichOneStands()[0], nil, cpid.DefaultKeys, 10)
	b.ReportAllocs()
	for b.Loop() {
		cpid.Inject(cpid.Extract(annotations, cpid.DefaultKeys, 10), annotations, cpid.DefaultKeys, 10)
	}
}
