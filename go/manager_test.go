package causeway_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"causeway"
	"causeway/internal/told"
)

// failing is a manager that loses its lease.
type failing struct {
	manager.Manager
	logger logr.Logger
	added  *[]manager.Runnable
}

func (f failing) Add(one manager.Runnable) error {
	*f.added = append(*f.added, one)
	return nil
}

var errLost = errors.New("leader election lost")

func (failing) GetHTTPClient() *http.Client     { return &http.Client{} }
func (failing) GetClient() client.Client        { return nil }
func (failing) GetCache() cache.Cache           { return nil }
func (failing) GetAPIReader() client.Reader     { return nil }
func (f failing) GetLogger() logr.Logger        { return f.logger }
func (failing) Start(ctx context.Context) error { return errLost }

type refusing struct{ *tracetest.InMemoryExporter }

func (refusing) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error {
	return errors.New("nobody takes them")
}

// A process that lost its lease calls os.Exit, which skips deferred calls.
func TestAManagerThatFailsSendsWhatIsLeft(t *testing.T) {
	for name, exporter := range map[string]sdktrace.SpanExporter{"taken": tracetest.NewInMemoryExporter(), "refused": refusing{}} {
		t.Run(name, func(t *testing.T) {
			tracers := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
			trace, err := causeway.New(scheme.Scheme, nil, causeway.Settings{TracerProvider: tracers})
			must(t, err)
			var lines []string
			logger := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
			_, span := tracers.Tracer("test").Start(t.Context(), "work")
			span.End()
			if err := trace.Manager(failing{logger: logger}).Start(t.Context()); !errors.Is(err, errLost) {
				t.Errorf("it ends with %v", err)
			}
			taken, ok := exporter.(*tracetest.InMemoryExporter)
			if ok && (len(taken.GetSpans()) != 1 || len(lines) > 0) {
				t.Errorf("%d spans are taken, and the log says %q", len(taken.GetSpans()), lines)
			}
			if !ok && (len(lines) != 1 || !strings.Contains(lines[0], "nobody takes them")) {
				t.Errorf("the log says %q", lines)
			}
		})
	}
}

// part is the request type of a controller with its own requests.
type part struct{ of, name string }

func TestAControllerWithRequestsOfItsOwnIsTracedIfItsReconcileIsWrapped(t *testing.T) {
	var lines []string
	var added []manager.Runnable
	kept, plain := &told.Changes{}, &informertest.FakeInformers{Scheme: scheme.Scheme}
	trace, err := causeway.New(scheme.Scheme, nil, causeway.Settings{TracerProvider: kept.Tracers(), KeepsIdleSpans: true})
	must(t, err)
	mgr := trace.Manager(failing{logger: funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}), added: &added})
	add := func(inner reconcile.TypedReconciler[part]) controller.TypedController[part] {
		parts, err := controller.NewTypedUnmanaged("parts", controller.TypedOptions[part]{SkipNameValidation: new(true), Reconciler: inner})
		must(t, err)
		must(t, mgr.Add(parts))
		return parts
	}
	done := make(chan part)
	inner := reconcile.TypedFunc[part](func(_ context.Context, request part) (reconcile.Result, error) {
		done <- request
		return reconcile.Result{}, nil
	})
	add(inner)
	must(t, mgr.Add(manager.RunnableFunc(func(context.Context) error { return nil })))
	if len(lines) != 1 || !strings.Contains(lines[0], "not traced") {
		t.Errorf("the log says %q", lines)
	}
	parts := add(causeway.TypedReconciler(trace, "reconcile parts", inner))
	must(t, parts.Watch(source.TypedFunc[part](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[part]) error {
		informer, err := trace.Cache(plain).GetInformer(ctx, &corev1.ConfigMap{})
		if err == nil {
			_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: func(object any) {
				queue.Add(part{object.(*corev1.ConfigMap).Name, "x"})
			}})
		}
		held, _ := plain.FakeInformerFor(ctx, &corev1.ConfigMap{})
		held.Add(settings("a", first, ""))
		return err
	})))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- added[2].Start(ctx) }()
	if request := <-done; request != (part{"a", "x"}) {
		t.Errorf("%+v is reconciled", request)
	}
	cancel()
	must(t, <-ended)
	if spans := kept.Spans("reconcile parts"); len(lines) != 1 || len(spans) != 1 || spans[0].CPID != first || len(spans[0].Observed) != 1 {
		t.Errorf("the spans are %+v, and the log says %q", spans, lines)
	}
}
