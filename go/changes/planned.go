package changes

import (
	"crypto/sha256"
	"slices"
	"strings"
	"sync"
	"time"

	"causeway/cpid"
	"causeway/internal/bounded"
)

const (
	// How many planned changes are kept for retries.
	mostOutcomes = 4_096
	// The most sources of all unsent mergelogs, each counted with one more: enough for some 100,000 writes in flight.
	mostUntold = 262_144
	// Longer keys are replaced by digests.
	longestKey = 256
)

// planned has the merges for writes that the API server has yet to accept.
type planned struct {
	mu       sync.Mutex
	outcomes *bounded.Map[string, cpid.Context]
	untold   *bounded.Map[string, untold]
}

type untold struct {
	mergelog cpid.Mergelog
	detail   Detail
	at       time.Time // when it was last decided on
	key      string
}

func newPlanned() *planned {
	return &planned{
		outcomes: bounded.NewMap[string, cpid.Context](mostOutcomes, nil),
		untold:   bounded.NewMap[string](mostUntold, func(u untold) int { return len(u.mergelog.Sources) + 1 }),
	}
}

func (p *planned) plan(causes []cpid.Context, detail Detail, now time.Time, merge func() (cpid.Context, []string, bool)) cpid.Context {
	target := detail.Object
	target.UID, target.ResourceVersion = "", ""
	key := keyOf(causes, target.String())
	isKept := key != " "
	p.mu.Lock()
	defer p.mu.Unlock()
	if earlier, ok := p.outcomes.Get(key); ok && isKept {
		if before, ok := p.untold.Get(earlier.CPID); ok {
			before.at = now
			p.untold.Set(earlier.CPID, before)
		}
		return earlier
	}
	change, sources, isNew := merge()
	if !isNew {
		return change
	}
	if isKept {
		p.outcomes.Set(key, change)
	}
	p.untold.Set(change.CPID, untold{cpid.Mergelog{CPID: change.CPID, Sources: sources}, detail, now, key})
	return change
}

func (p *planned) isUntold(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.untold.Get(id)
	return ok
}

// accept returns the unsent mergelog of a CPID whose write was accepted; false if it has none or was sent.
func (p *planned) accept(id string) (untold, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	told, ok := p.untold.Get(id)
	if !ok {
		return told, false
	}
	p.untold.Delete(id)
	// A root change is used once: the next write of the object begins another.
	if len(told.mergelog.Sources) == 0 {
		p.outcomes.Delete(told.key)
	}
	return told, true
}

func keyOf(causes []cpid.Context, target string) string {
	ids := make([]string, len(causes))
	for i, cause := range causes {
		ids[i] = cause.CPID
	}
	slices.Sort(ids)
	key := strings.Join(ids, ",") + " " + target
	if len(key) <= longestKey {
		return key
	}
	digest := sha256.Sum256([]byte(key))
	return string(digest[:])
}
