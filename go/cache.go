package causeway

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// waking connects a controller's event handlers with its queue. Handlers run one at a time, so requests that are added to the queue
// during a handler are known to come from its object.
type waking struct {
	mu  sync.Mutex
	now atomic.Pointer[event]
}

type event struct {
	seen               seen
	observedGeneration int64
}

type wakingKey struct{}

// tracedCache has informers that report what they deliver to the memory and to controllers.
type tracedCache struct {
	cache.Cache
	trace *Trace
}

// Cache wraps a cache: its informers recognise deletions, and writes by writers without CPIDs.
func (t *Trace) Cache(inner cache.Cache) cache.Cache { return tracedCache{inner, t} }

func (c tracedCache) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	err := c.Cache.Get(ctx, key, object, opts...)
	c.trace.noteGet(ctx, key, object, err)
	return err
}

func (c tracedCache) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := c.Cache.List(ctx, list, opts...)
	c.trace.noteList(ctx, list, err)
	return err
}

func (c tracedCache) GetInformer(ctx context.Context, object client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	inner, err := c.Cache.GetInformer(ctx, object, opts...)
	return c.traced(ctx, inner, err, c.trace.kinds.of(object).GroupKind())
}

func (c tracedCache) GetInformerForKind(ctx context.Context, gvk schema.GroupVersionKind, opts ...cache.InformerGetOption) (cache.Informer, error) {
	inner, err := c.Cache.GetInformerForKind(ctx, gvk, opts...)
	return c.traced(ctx, inner, err, gvk.GroupKind())
}

func (c tracedCache) RemoveInformer(ctx context.Context, object client.Object) error {
	c.trace.memory.unwatch(c.trace.kinds.of(object).GroupKind())
	return c.Cache.RemoveInformer(ctx, object)
}

func (c tracedCache) traced(ctx context.Context, inner cache.Informer, err error, kind schema.GroupKind) (cache.Informer, error) {
	if err != nil || inner == nil {
		return inner, err
	}
	c.trace.memory.watch(kind)
	of, _ := ctx.Value(wakingKey{}).(*waking)
	return tracedInformer{inner, c.trace, of}, nil
}

// tracedInformer reports events to the memory before it calls handlers.
type tracedInformer struct {
	cache.Informer
	trace  *Trace
	waking *waking // nil where no controller asked for it
}

func (i tracedInformer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.Informer.AddEventHandler(tracedHandler{i, h})
}

func (i tracedInformer) AddEventHandlerWithResyncPeriod(h toolscache.ResourceEventHandler, period time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.Informer.AddEventHandlerWithResyncPeriod(tracedHandler{i, h}, period)
}

func (i tracedInformer) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, options toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.Informer.AddEventHandlerWithOptions(tracedHandler{i, h}, options)
}

type tracedHandler struct {
	informer tracedInformer
	inner    toolscache.ResourceEventHandler
}

func (h tracedHandler) OnAdd(object any, isInInitialList bool) {
	h.handle(object, h.informer.trace.memory.told, func() { h.inner.OnAdd(object, isInInitialList) })
}

func (h tracedHandler) OnUpdate(before, object any) {
	h.handle(object, h.informer.trace.memory.told, func() { h.inner.OnUpdate(before, object) })
}

func (h tracedHandler) OnDelete(object any) {
	last := object
	if unknown, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		last = unknown.Obj
	}
	h.handle(last, h.informer.trace.memory.noteDeleted, func() { h.inner.OnDelete(object) })
}

func (h tracedHandler) handle(told any, note func(client.Object) seen, handle func()) {
	object, ok := told.(client.Object)
	if !ok {
		handle()
		return
	}
	s := note(object)
	w := h.informer.waking
	if w == nil {
		handle()
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now.Store(&event{s, observedGenerationOf(object)})
	defer w.now.Store(nil)
	handle()
}
