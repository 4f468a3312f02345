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

// lastChange is the last change of a key with its known causes, which may be more than the ancestors that fit on an object. A forgotten
// cause is named as a source again.
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

// The most remembered causes of a key, or as many as one reconcile reads if more: forgetting some of those would cause endless merges.
const mostCausesOfKey = 16_384

// plan is a planned change, and the causes that it was decided on.
type plan struct {
	change cpid.Context
	causes map[string]bool
}

// work is a running reconcile: what it read is the cause of its writes.
type work struct {
	mu     sync.Mutex
	order  []string // of the causes, by CPID
	causes map[string]cause
	unused []cause
	reads  []string
	noted  map[string]bool
	last   lastChange
	plan   *plan
	change cpid.Context // the change of the last accepted write
	isOver bool
	// forgotten is how many causes of the last change were forgotten.
	forgotten int
}

func newWork(last lastChange) *work {
	return &work{causes: map[string]cause{}, noted: map[string]bool{}, last: last}
}

type workKey struct{}

// workIn is the running reconcile; nil if there is none or it has ended.
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

// read notes that the work read a version of an object, and follows its change.
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

// follows returns the causes of a write that is made now. If the last change of this key, or a descendant, was read again, its own causes
// are left out.
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

// useCauses reports all unreported causes read so far as used, except ancestors of others, which their writers have reported.
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

// planned is the plan for these causes, decided once.
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

// wrote notes that a write of a plan was accepted: its change is now the last one, and covers its causes.
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

// outcome is the change of the last write; zero if there was none.
func (w *work) outcome() cpid.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.change
}

// noteReads notes the reads since the last call on a span.
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

// noteAgain returns reads whose span was dropped, for the next span.
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

// end ends the work: goroutines that it started are not part of it any more.
func (w *work) end() (last lastChange, forgotten int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isOver, w.reads = true, nil
	return w.last, w.forgotten
}
