package causeway

import (
	"fmt"
	"slices"
	"testing"

	"causeway/cpid"
)

// A long-lived key: each change follows from the previous one and from new causes.
func TestWhatTheLastChangeComesFromIsBoundedAndCounted(t *testing.T) {
	const rounds, each = 3 * mostCausesOfKey / 100, 100
	numbered := func(number int) cause {
		return cause{Context: cpid.Context{CPID: fmt.Sprintf("00000000-0000-4000-8000-%012x", number)}}
	}
	steady := numbered(1)
	var last lastChange
	forgotten := 0
	for round := range rounds {
		w := newWork(last)
		w.follow(steady)
		w.follow(cause{Context: last.change})
		for number := range each {
			w.follow(numbered(2 + round*(each+1) + number))
		}
		causes := w.follows()
		if isNamed := slices.ContainsFunc(causes, func(c cpid.Context) bool { return c.CPID == steady.CPID }); isNamed != (round == 0) {
			t.Fatalf("in round %d what was read each time is named: %t", round, isNamed)
		}
		w.wrote(w.planned(causes, func() cpid.Context { return numbered(2 + round*(each+1) + each).Context }))
		more := 0
		last, more = w.end()
		forgotten += more
	}
	held := last.causes.Len()
	if held > mostCausesOfKey || held < mostCausesOfKey-1 {
		t.Errorf("%d causes are held, of which %d may be", held, mostCausesOfKey)
	}
	// The last change is no cause of itself.
	if came := rounds*(each+1) + 1; held+forgotten != came-1 {
		t.Errorf("%d are counted as forgotten, and %d held, of %d", forgotten, held, came)
	}

	// All causes that one reconcile reads are kept, so that none is named again by the next.
	w := newWork(lastChange{})
	for number := range mostCausesOfKey + 1_000 {
		w.follow(numbered(number + 2))
	}
	w.wrote(w.planned(w.follows(), func() cpid.Context { return numbered(1).Context }))
	next, _ := w.end()
	again := newWork(next)
	again.follow(numbered(1))
	for number := range mostCausesOfKey + 1_000 {
		again.follow(numbered(number + 2))
	}
	if causes := again.follows(); len(causes) != 1 {
		t.Errorf("%d causes are named again", len(causes))
	}
}
