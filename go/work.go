package causeway

import (
	"context"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"causeway/cpid"
	"causeway/internal/bounded"
)

// lastChange is what the last change of a key is known to come from, beyond the ancestors that fit on an object. What is forgotten of
// that is named once more.
type lastChange struct {
	change cpid.Context
	causes *bounded.Map[string, struct{}]
}

func (l lastChange) isFrom(id string) bool {
	if l.causes == nil {
		return false
	}
	_, ok := l.causes.Get(id)
	return ok
}

// Of the causes of one key. What one reconcile reads counts as it is: if some of that were forgotten each time, there would be no end of merges.
const mostCausesOfKey = 16_384

// plan is an outcome, and what it was decided on.
type plan struct {
	change cpid.Context
	causes map[string]bool
}

// work is a reconcile that is going on: what it read is what its writes follow from.
type work struct {
	mu     sync.Mutex
	order  []string // of the causes, by CPID
	causes map[string]cause
	unused []cause
	reads  []string
	noted  map[string]bool
	last   lastChange
	plan   *plan
	change cpid.Context // the outcome of the last merge that was written for
	isOver bool
	// forgotten is how much of what the last change comes from had to go.
	forgotten int
}

func newWork(last lastChange) *work {
	return &work{causes: map[string]cause{}, noted: map[string]bool{}, last: last}
}

type workKey struct{}

// workIn is the reconcile that is going on; nil where there is none, or it is over.
func workIn(ctx context.Context) *work {
	w, _ := ctx.Value(workKey{}).(*work)
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isOver {
		return nil
	}
	return w
}

// read notes that the work read a version of an object, and what that comes from.
func (w *work) read(s seen, from cause) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noteLocked(s.reference.String())
	w.followLocked(from)
}

func (w *work) follow(from cause) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.followLocked(from)
}

func (w *work) followLocked(from cause) {
	if from.IsZero() {
		return
	}
	if _, ok := w.causes[from.CPID]; !ok {
		w.order = append(w.order, from.CPID)
	}
	w.causes[from.CPID] = from
	if from.tell != nil {
		w.unused = append(w.unused, from)
	}
}

// follows is what a write follows from that is made now: not what the last change of this key came from, if that was read again, or
// what comes of it.
func (w *work) follows() []cpid.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	isReadAgain := slices.ContainsFunc(w.order, w.isOfLastLocked)
	causes := make([]cpid.Context, 0, len(w.order))
	for _, id := range w.order {
		if isReadAgain && w.last.isFrom(id) && !w.isOfLastLocked(id) {
			continue
		}
		causes = append(causes, w.causes[id].Context)
	}
	return causes
}

func (w *work) isOfLastLocked(id string) bool {
	last := w.last.change.CPID
	return last != "" && (id == last || slices.Contains(w.causes[id].Ancestors, last))
}

// useCauses says that something comes from all that was read so far. What another of them descends from was told by whoever wrote that.
func (w *work) useCauses() {
	w.mu.Lock()
	told := map[string]bool{}
	for _, one := range w.causes {
		for _, ancestor := range one.Ancestors {
			told[ancestor] = true
		}
	}
	unused := slices.DeleteFunc(w.unused, func(one cause) bool { return told[one.CPID] })
	w.unused = nil
	w.mu.Unlock()
	for _, one := range unused {
		one.use()
	}
}

// planned is the outcome for these causes, decided once.
func (w *work) planned(causes []cpid.Context, decide func() cpid.Context) *plan {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.plan != nil && len(w.plan.causes) == len(causes) {
		isSame := true
		for _, one := range causes {
			isSame = isSame && w.plan.causes[one.CPID]
		}
		if isSame {
			return w.plan
		}
	}
	w.plan = &plan{decide(), make(map[string]bool, len(causes))}
	for _, one := range causes {
		w.plan.causes[one.CPID] = true
	}
	return w.plan
}

// wrote says that a write for a plan was accepted: what comes now comes from that, and what it came from is no news.
func (w *work) wrote(p *plan) {
	w.mu.Lock()
	defer w.mu.Unlock()
	isOfLast := false
	for id := range p.causes {
		isOfLast = isOfLast || w.isOfLastLocked(id)
	}
	if !isOfLast || w.last.causes == nil {
		w.last.causes = bounded.NewMap[string, struct{}](mostCausesOfKey, nil)
	}
	before := w.last.causes.Forgotten()
	w.last.causes.Limit(max(mostCausesOfKey, len(w.order)))
	for _, id := range w.order {
		if p.causes[id] || w.last.isFrom(id) {
			w.last.causes.Set(id, struct{}{})
		}
	}
	w.forgotten += w.last.causes.Forgotten() - before
	w.last.causes.Delete(p.change.CPID)
	w.last.change = p.change
	w.change = p.change
	w.followLocked(cause{Context: p.change})
}

// outcome is the change of the last write; zero where there was none.
func (w *work) outcome() cpid.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.change
}

// noteReads notes on a span what was read since the last time.
func (w *work) noteReads(span trace.Span) (noted []string) {
	w.mu.Lock()
	noted = w.reads
	w.reads, w.noted = nil, map[string]bool{}
	w.mu.Unlock()
	if len(noted) > 0 {
		span.SetAttributes(attribute.StringSlice(attributeObserved, noted))
	}
	return noted
}

// noteAgain says that the span that some reads were noted on is not told: the next one has them.
func (w *work) noteAgain(reads []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	later := w.reads
	w.reads, w.noted = nil, map[string]bool{}
	for _, text := range append(reads, later...) {
		w.noteLocked(text)
	}
}

func (w *work) noteLocked(text string) {
	if text != "" && !w.noted[text] && len(w.reads) < mostNoted {
		w.reads = append(w.reads, text)
		w.noted[text] = true
	}
}

// end says that what was begun in the work and goes on is no part of it.
func (w *work) end() (last lastChange, forgotten int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isOver, w.reads = true, nil
	return w.last, w.forgotten
}
