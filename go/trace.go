// Package causeway instruments controllers built with controller-runtime: their writes carry the CPID of the change that they follow from,
// and spans and mergelogs go to OpenTelemetry. An ordinary operator needs only WrapManager.
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

// Settings are those of a Trace; the zero value has the defaults.
type Settings struct {
	changes.Settings
	// Cluster is the name under which Causeway watches the cluster, so that changes of writers without CPIDs get the same CPID as in
	// Causeway. Empty means k8s.cluster.name of OTEL_RESOURCE_ATTRIBUTES.
	Cluster string
	// TracerProvider gets the spans; nil means the registered one.
	TracerProvider trace.TracerProvider
	// KeepsIdleSpans makes spans of successful reconciles without writes too.
	KeepsIdleSpans bool
	// LeavesDeletionsUnmarked omits the patch that annotates an object with the change before its deletion.
	LeavesDeletionsUnmarked bool
	// SendsNoTraceparent omits the traceparent header, as when an HTTP instrumentation of OpenTelemetry sends it. Otherwise requests of a
	// manager's client carry it, and spans of the API server are children of the write.
	SendsNoTraceparent bool
}

// Trace is the instrumentation of one cluster: what this process knows of its changes.
type Trace struct {
	settings Settings
	changes  *changes.Changes
	kinds    *kinds
	known    *known
	memory   *memory
	// collections are the recent DeleteAllOf calls.
	collections collections
}

// WrapManager returns the manager with traced client, cache and controllers. Call it before the manager is used, and use only the
// returned one.
func WrapManager(mgr manager.Manager) manager.Manager {
	t, err := New(mgr.GetScheme(), mgr.GetRESTMapper(), Settings{})
	if err != nil {
		// Cannot happen: the default settings are valid.
		panic(err)
	}
	return t.Manager(mgr)
}

// New makes a Trace with settings, and fails when they are invalid.
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

// Changes returns the underlying operations, for writes by other clients.
func (t *Trace) Changes() *changes.Changes { return t.changes }

func (t *Trace) tracer() trace.Tracer {
	if t.settings.TracerProvider != nil {
		return t.settings.TracerProvider.Tracer(changes.Scope)
	}
	return otel.Tracer(changes.Scope)
}

// clusterName is k8s.cluster.name of OTEL_RESOURCE_ATTRIBUTES, read as OpenTelemetry SDKs do.
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

// Attribute names that Causeway reads; they never change.
const (
	attributeCPID      = "cpid.id"
	attributeAncestors = "cpid.ancestors"
	attributeObserved  = "cpid.observed"
	attributeWrote     = "cpid.wrote"
)

// The most references on one span.
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
