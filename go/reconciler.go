package causeway

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"causeway/changes"
	"causeway/cpid"
	"causeway/internal/bounded"
)

const (
	mostKeys   = 10_000
	mostWakers = 64
	// The most causes remembered for the last changes of all keys. A forgotten cause is named as a source again.
	mostCauses = 262_144

	forgottenCauses = "cpid.instrumentation.forgotten_causes"
)

// waker is an object that triggers a reconcile. id identifies the object, or an earlier version of it that counts besides the newest.
type waker struct {
	id, cpid string
	seen     seen
}

// reconciler wraps a reconcile in a span of the change that it writes for, or else of its trigger. The triggers are kept for retries, and
// after a success until the next trigger.
type reconciler[Request comparable] struct {
	trace *Trace
	name  string
	inner reconcile.TypedReconciler[Request]

	mu      sync.Mutex
	woken   *bounded.Map[Request, []waker]
	earlier *bounded.Map[Request, []waker]
	last    *bounded.Map[Request, lastChange]
}

// tracedReconciler is a reconciler of any request type.
type tracedReconciler interface {
	// queues wraps a controller's queue constructor so that the queue notes the trigger of each request; false for another request type.
	queues(makes any, w *waking) (any, bool)
}

// Reconciler wraps a reconciler that no manager of this Trace starts. name is the span name, such as "reconcile WebApp".
func (t *Trace) Reconciler(name string, inner reconcile.Reconciler) reconcile.Reconciler {
	return newReconciler(t, name, inner)
}

// TypedReconciler wraps the reconciler of a controller whose requests are not reconcile.Request, before the controller is made.
func TypedReconciler[Request comparable](t *Trace, name string, inner reconcile.TypedReconciler[Request]) reconcile.TypedReconciler[Request] {
	return newReconciler(t, name, inner)
}

func newReconciler[Request comparable](t *Trace, name string, inner reconcile.TypedReconciler[Request]) *reconciler[Request] {
	return &reconciler[Request]{
		trace: t, name: name, inner: inner,
		woken:   bounded.NewMap[Request, []waker](mostKeys, nil),
		earlier: bounded.NewMap[Request, []waker](mostKeys, nil),
		last:    bounded.NewMap[Request](mostCauses, func(l lastChange) int { return l.causes.Len() + 1 }),
	}
}

func (r *reconciler[Request]) queues(makes any, w *waking) (any, bool) {
	inner, ok := makes.(newQueue[Request])
	if !ok || inner == nil {
		return nil, false
	}
	return tracedQueues(inner, func(request Request) {
		if e := w.now.Load(); e != nil {
			r.wokenBy(request, e.seen, e.observedGeneration)
		}
	}), true
}

// Reconcile runs the wrapped reconciler.
func (r *reconciler[Request]) Reconcile(ctx context.Context, request Request) (result reconcile.Result, err error) {
	wakers, last := r.take(request)
	w := newWork(last)
	for _, one := range wakers {
		w.read(one.seen, r.trace.known.of(one.seen))
	}
	var woke cpid.Context
	if causes := w.follows(); len(causes) > 0 {
		woke = causes[len(causes)-1]
	}
	ctx = context.WithValue(cpid.NewContext(ctx, woke), workKey{}, w)
	if !woke.IsZero() {
		ctx = log.IntoContext(ctx, log.FromContext(ctx).WithValues("cpid", woke.CPID))
	}
	ctx, span := r.trace.tracer().Start(ctx, r.name)
	w.noteReads(span)
	isOver := false
	defer func() {
		if !isOver { // It panics.
			r.giveBack(request, wakers)
			span.SetStatus(codes.Error, "panic")
		}
		if err != nil {
			r.giveBack(request, wakers)
			span.SetStatus(codes.Error, errorLine(err))
		}
		if !w.outcome().IsZero() || err != nil || !isOver || r.trace.settings.KeepsIdleSpans {
			endReconcile(span, w, woke, len(wakers) == 0)
		}
		last, forgotten := w.end()
		r.keep(request, last)
		countForgotten(ctx, forgotten)
	}()
	result, err = r.inner.Reconcile(ctx, request)
	isOver = true
	return result, err
}

func endReconcile(span trace.Span, w *work, woke cpid.Context, notesReads bool) {
	// With known triggers, other reads are noted on the writes only: the reconcile did not wait for them.
	if notesReads {
		w.noteReads(span)
	}
	w.useCauses()
	change := w.outcome()
	if change.IsZero() {
		change = woke
	}
	if causes := w.follows(); change.IsZero() && len(causes) > 0 {
		change = causes[0]
	}
	span.SetAttributes(changeAttributes(change)...)
	span.End()
}

// take returns the triggers since the last reconcile, or else those of the last one, as for a retry.
func (r *reconciler[Request]) take(request Request) ([]waker, lastChange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, _ := r.last.Get(request)
	r.last.Delete(request) // The reconcile has it now, and gives it back in the end.
	wakers, ok := r.woken.Get(request)
	if !ok {
		wakers, ok = r.earlier.Get(request)
	}
	r.woken.Delete(request)
	if ok {
		r.earlier.Set(request, wakers)
	}
	return wakers, last
}

// giveBack returns the triggers of a failed reconcile, before newer ones.
func (r *reconciler[Request]) giveBack(request Request, wakers []waker) {
	if len(wakers) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	all := append([]waker(nil), wakers...)
	since, _ := r.woken.Get(request)
	for _, one := range since {
		all = withWaker(all, one)
	}
	r.woken.Set(request, all[max(0, len(all)-mostWakers):])
}

func (r *reconciler[Request]) keep(request Request, last lastChange) {
	if last.change.IsZero() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last.Set(request, last)
}

// countForgotten counts forgotten causes, which are named again when they are read again.
func countForgotten(ctx context.Context, causes int) {
	if causes == 0 {
		return
	}
	counter, err := otel.Meter(changes.Scope).Int64Counter(forgottenCauses, metric.WithUnit("{cause}"),
		metric.WithDescription("Causes of the last change of a key that were forgotten, since there were too many."))
	if err == nil {
		counter.Add(ctx, int64(causes))
	}
}

// wokenBy notes the version of an object that triggers a request. An overwritten version that was not acted on counts too.
func (r *reconciler[Request]) wokenBy(request Request, s seen, observedGeneration int64) {
	id := s.reference.UID
	if id == "" {
		id = s.reference.String()
	}
	next := waker{id, r.trace.known.of(s).CPID, s}
	r.mu.Lock()
	defer r.mu.Unlock()
	there, _ := r.woken.Get(request)
	wakers := make([]waker, 0, len(there)+1)
	for _, one := range there {
		if one.id == id {
			isUnacted := observedGeneration > 0 && observedGeneration < one.seen.generation
			if one.cpid == "" || one.cpid == next.cpid || !isUnacted {
				continue
			}
			one.id += " " + one.cpid
		}
		wakers = append(wakers, one)
	}
	if len(wakers) < mostWakers {
		wakers = append(wakers, next) // The newest version comes last.
	}
	r.woken.Set(request, wakers)
}

func withWaker(wakers []waker, next waker) []waker {
	for i, one := range wakers {
		if one.id == next.id {
			wakers[i] = next
			return wakers
		}
	}
	return append(wakers, next)
}
