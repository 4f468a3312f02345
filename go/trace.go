// Package causeway has a controller built with controller-runtime take part in changes: what it writes carries the CPID of the
// change that it follows from, and spans and mergelogs say so to OpenTelemetry. An ordinary operator needs WrapManager alone.
package causeway

import (
	"net/url"
	"os"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"causeway/changes"
	"causeway/cpid"
)

// Settings are those of a Trace; the zero value is what most want.
type Settings struct {
	changes.Settings
	// Cluster is the name under which Causeway watches the cluster: a change of a writer without CPID gets the CPID that Causeway gives
	// it. Where it is empty it is k8s.cluster.name of OTEL_RESOURCE_ATTRIBUTES.
	Cluster string
	// TracerProvider is where spans go; whatever is registered where it is nil.
	TracerProvider trace.TracerProvider
	// KeepsIdleSpans has a reconcile leave a span though it wrote nothing and did not fail.
	KeepsIdleSpans bool
	// LeavesDeletionsUnmarked spares the patch that says on an object, before it is deleted, which change that is for.
	LeavesDeletionsUnmarked bool
	// SendsNoTraceparent leaves the header to an HTTP instrumentation of OpenTelemetry. Else requests of a manager's client carry it, and
	// spans of the API server hang below the write.
	SendsNoTraceparent bool
}

// Trace is what this process knows of the changes of one cluster.
type Trace struct {
	settings Settings
	changes  *changes.Changes
	kinds    *kinds
	known    *known
	memory   *memory
	// collections are what DeleteAllOf takes.
	collections collections
}

// WrapManager gives the manager, with a client, a cache and controllers that take part in changes. Do it before anything is taken
// from the manager, and use only what it returns.
func WrapManager(mgr manager.Manager) manager.Manager {
	t, err := New(mgr.GetScheme(), mgr.GetRESTMapper(), Settings{})
	if err != nil {
		// Nothing was set that could be wrong.
		panic(err)
	}
	return t.Manager(mgr)
}

// New makes a Trace with settings of one's own, and fails where they make no sense.
func New(scheme *runtime.Scheme, mapper meta.RESTMapper, settings Settings) (*Trace, error) {
	decisions, err := changes.New(settings.Settings)
	if err != nil {
		return nil, err
	}
	if settings.Cluster == "" {
		settings.Cluster = clusterName(os.Getenv("OTEL_RESOURCE_ATTRIBUTES"))
	}
	t := &Trace{settings: settings, changes: decisions, kinds: newKinds(scheme, mapper), known: newKnown()}
	t.memory = newMemory(t)
	return t, nil
}

// Changes are the decisions below, for writes by other clients.
func (t *Trace) Changes() *changes.Changes { return t.changes }

func (t *Trace) tracer() trace.Tracer {
	if t.settings.TracerProvider != nil {
		return t.settings.TracerProvider.Tracer(changes.Scope)
	}
	return otel.Tracer(changes.Scope)
}

// clusterName is the cluster that the process says all its telemetry is of, as SDKs of OpenTelemetry read it.
func clusterName(attributes string) string {
	for pair := range strings.SplitSeq(attributes, ",") {
		name, value, _ := strings.Cut(pair, "=")
		if strings.TrimSpace(name) == "k8s.cluster.name" {
			if text, err := url.PathUnescape(strings.TrimSpace(value)); err == nil {
				return text
			}
		}
	}
	return ""
}

// Names that others read: they are Causeway's, and never change.
const (
	attributeCPID      = "cpid.id"
	attributeAncestors = "cpid.ancestors"
	attributeObserved  = "cpid.observed"
	attributeWrote     = "cpid.wrote"
)

// A span of more objects would be mostly this list.
const mostNoted = 128

func changeAttributes(change cpid.Context) []attribute.KeyValue {
	if change.IsZero() {
		return nil
	}
	attributes := []attribute.KeyValue{attribute.String(attributeCPID, change.CPID)}
	if len(change.Ancestors) > 0 {
		attributes = append(attributes, attribute.StringSlice(attributeAncestors, change.Ancestors))
	}
	return attributes
}
