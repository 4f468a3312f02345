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
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"causeway"
)

// failing is a manager that loses its lease.
type failing struct {
	manager.Manager
	logger logr.Logger
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

// Who lost the lease ends by os.Exit, which leaves out what was deferred.
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
