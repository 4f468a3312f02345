package causeway

import (
	"context"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// tracedManager gives out what takes part in changes.
type tracedManager struct {
	manager.Manager
	trace  *Trace
	client client.Client
	cache  cache.Cache
	reader client.Reader
}

// Manager wraps a manager: see WrapManager.
func (t *Trace) Manager(inner manager.Manager) manager.Manager {
	if !t.settings.SendsNoTraceparent {
		sendTraceparent(inner.GetHTTPClient())
	}
	return &tracedManager{inner, t, t.Client(inner.GetClient()), t.Cache(inner.GetCache()), tracedReader{inner.GetAPIReader(), t}}
}

func (m *tracedManager) GetClient() client.Client    { return m.client }
func (m *tracedManager) GetCache() cache.Cache       { return m.cache }
func (m *tracedManager) GetAPIReader() client.Reader { return m.reader }

// Add has the reconciles of controllers traced. Controllers whose requests are not reconcile.Request, and those that are not of
// controller-runtime, run untraced: wrap their reconcile with Trace.Reconciler.
func (m *tracedManager) Add(runnable manager.Runnable) error {
	if traced, ok := m.trace.controller(runnable); ok {
		return m.Manager.Add(traced)
	}
	if _, ok := runnable.(interface {
		manager.Runnable
		reconcile.Reconciler
	}); ok {
		m.GetLogger().Info("the reconciles of a controller are not traced; wrap them with causeway's Trace.Reconciler",
			"type", reflect.TypeOf(runnable).String())
	}
	return m.Manager.Add(runnable)
}

// A controller of controller-runtime is a struct of an internal package, with exported fields for its reconcile and its queue. They
// are set before it starts: there is no other door to all controllers of a manager.
const (
	fieldName      = "Name"
	fieldReconcile = "Do"
	fieldNewQueue  = "NewQueue"
)

func (t *Trace) controller(runnable manager.Runnable) (tracedController, bool) {
	inner, ok := runnable.(startedController)
	value := reflect.ValueOf(runnable)
	if !ok || value.Kind() != reflect.Pointer || value.Elem().Kind() != reflect.Struct {
		return tracedController{}, false
	}
	do, queue := value.Elem().FieldByName(fieldReconcile), value.Elem().FieldByName(fieldNewQueue)
	if !do.IsValid() || !do.CanSet() || !queue.IsValid() || !queue.CanSet() {
		return tracedController{}, false
	}
	reconciles, isReconciler := do.Interface().(reconcile.Reconciler)
	makes, isQueue := queue.Interface().(newQueue)
	if !isReconciler || !isQueue || makes == nil {
		return tracedController{}, false
	}
	traced, isWrapped := reconciles.(*reconciler)
	if !isWrapped {
		name := "reconcile"
		if own := value.Elem().FieldByName(fieldName); own.Kind() == reflect.String {
			name += " " + own.String()
		}
		traced = t.reconciler(name, reconciles)
	}
	w := &waking{}
	do.Set(reflect.ValueOf(traced))
	queue.Set(reflect.ValueOf(tracedQueues(makes, func(request reconcile.Request) {
		if e := w.now.Load(); e != nil {
			traced.wokenBy(request, e.seen, e.observedGeneration)
		}
	})))
	return tracedController{inner, w}, true
}

type startedController interface {
	manager.Runnable
	manager.LeaderElectionRunnable
	reconcile.Reconciler
	Warmup(context.Context) error
}

// tracedController starts a controller in a context by which the cache knows it.
type tracedController struct {
	startedController
	waking *waking
}

func (c tracedController) Start(ctx context.Context) error {
	return c.startedController.Start(context.WithValue(ctx, wakingKey{}, c.waking))
}

func (c tracedController) Warmup(ctx context.Context) error {
	return c.startedController.Warmup(context.WithValue(ctx, wakingKey{}, c.waking))
}
