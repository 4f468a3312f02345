package causeway

import (
	"context"
	"errors"
	"reflect"
	"time"

	"go.opentelemetry.io/otel"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// tracedManager returns traced clients, caches and controllers.
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

// Start runs the manager. A failing process, as after losing its lease, mostly calls os.Exit, which skips deferred calls: so remaining spans
// and mergelogs are flushed here.
func (m *tracedManager) Start(ctx context.Context) error {
	err := m.Manager.Start(ctx)
	if err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	if lost := m.trace.flush(ctx); lost != nil {
		m.GetLogger().Error(lost, "spans and mergelogs that are left could not be sent")
	}
	return err
}

// How long a failing manager waits for the flush.
const farewell = 5 * time.Second

func (t *Trace) flush(ctx context.Context) error {
	var tracers, loggers any = t.settings.TracerProvider, t.settings.LoggerProvider
	if t.settings.TracerProvider == nil {
		tracers = otel.GetTracerProvider()
	}
	if t.settings.LoggerProvider == nil {
		loggers = otel.GetLoggerProvider()
	}
	send := func(provider any) error {
		if one, ok := provider.(interface{ ForceFlush(context.Context) error }); ok {
			return one.ForceFlush(ctx)
		}
		return nil
	}
	sent := make(chan error)
	go func() { sent <- send(loggers) }()
	return errors.Join(send(tracers), <-sent)
}

// Add traces the reconciles of controllers. Controllers that are not controller-runtime's, or whose requests are not reconcile.Request, run
// untraced: wrap their reconciler with Trace.Reconciler or TypedReconciler.
func (m *tracedManager) Add(runnable manager.Runnable) error {
	if traced, ok := m.trace.controller(runnable); ok {
		return m.Manager.Add(traced)
	}
	if _, ok := reflect.TypeOf(runnable).MethodByName("Reconcile"); ok {
		m.GetLogger().Info("the reconciles of a controller are not traced; wrap them with causeway's Trace.Reconciler or TypedReconciler",
			"type", reflect.TypeOf(runnable).String())
	}
	return m.Manager.Add(runnable)
}

// A controller of controller-runtime is a struct of an internal package with exported fields for its reconciler and its queue. They are
// set before it starts: there is no other access to all controllers of a manager.
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
	traced, isWrapped := do.Interface().(tracedReconciler)
	if plain, ok := do.Interface().(reconcile.Reconciler); ok && !isWrapped {
		name := "reconcile"
		if own := value.Elem().FieldByName(fieldName); own.Kind() == reflect.String {
			name += " " + own.String()
		}
		traced = newReconciler(t, name, plain)
	}
	if traced == nil {
		return tracedController{}, false
	}
	w := &waking{}
	makes, ok := traced.queues(queue.Interface(), w)
	if !ok {
		return tracedController{}, false
	}
	do.Set(reflect.ValueOf(traced))
	queue.Set(reflect.ValueOf(makes))
	return tracedController{inner, w}, true
}

type startedController interface {
	manager.Runnable
	manager.LeaderElectionRunnable
	Warmup(context.Context) error
}

// tracedController starts a controller in a context that identifies it to the cache.
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
