package causeway

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"causeway/changes"
	"causeway/cpid"
)

// The test vectors of the TypeScript library.
const folder = "../packages/instrumentation/conformance"

type vector struct {
	Name     string
	Settings struct {
		MaxAncestors *int
		MaxSources   int
	}
	NewCPIDs  []string `json:"newCpids"`
	Steps     []step
	Mergelogs []map[string]any
}

type step struct {
	Do          string
	Of          []map[string]any
	Annotations map[string]string
	Written     map[string]string
	Context     *cpid.Context
	// A version that a writer without CPIDs made.
	Cluster, UID, ResourceVersion, CPID string
	// The first version of an object that an informer delivers.
	Object json.RawMessage
	// A deletecollection, and which objects it deletes.
	Namespace, Labels, Fields string
	Answered, Now             time.Time
	Taken                     []string
	Detail                    struct {
		Object struct {
			APIVersion, Kind string
			Metadata         struct{ Namespace, Name, UID, ResourceVersion string }
		}
		Reason string
	}
}

func (s step) detail() changes.Detail {
	object := s.Detail.Object
	if object.Kind == "" {
		return changes.Detail{Reason: s.Detail.Reason}
	}
	return changes.Detail{Reason: s.Detail.Reason, Object: cpid.Reference{
		APIVersion: object.APIVersion, Resource: cpid.ResourceOfKind(object.Kind),
		Namespace: object.Metadata.Namespace, Name: object.Metadata.Name,
		UID: object.Metadata.UID, ResourceVersion: object.Metadata.ResourceVersion,
	}}
}

// records keeps the mergelogs that were sent.
type records struct{ sent []map[string]any }

func (r *records) OnEmit(_ context.Context, record *sdklog.Record) error {
	told := map[string]any{}
	record.WalkAttributes(func(one attribute.KeyValue) bool {
		told[string(one.Key)] = one.Value.AsInterface()
		return true
	})
	r.sent = append(r.sent, told)
	return nil
}
func (r *records) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }
func (r *records) Shutdown(context.Context) error                         { return nil }
func (r *records) ForceFlush(context.Context) error                       { return nil }

func TestVectors(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) < 3 {
		t.Fatalf("in %s are %d files, and there should be 3 at least (%v)", folder, len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var read struct{ Vectors []vector }
		if err := json.Unmarshal(text, &read); err != nil || len(read.Vectors) == 0 {
			t.Fatalf("%s has %d vectors (%v)", file, len(read.Vectors), err)
		}
		for _, one := range read.Vectors {
			t.Run(filepath.Base(file)+"/"+one.Name, one.play)
		}
	}
}

func (v vector) play(t *testing.T) {
	sent := &records{}
	made := v.NewCPIDs
	settings := changes.Settings{
		MaxSources:     v.Settings.MaxSources,
		LoggerProvider: sdklog.NewLoggerProvider(sdklog.WithProcessor(sent)),
		NewCPID: func() string {
			if len(made) == 0 {
				t.Error("more CPIDs are made than the vector has")
				return cpid.New()
			}
			next := made[0]
			made = made[1:]
			return next
		},
	}
	if most := v.Settings.MaxAncestors; most != nil {
		if settings.MaxAncestors = *most; *most == 0 {
			settings.MaxAncestors = -1
		}
	}
	trace, err := New(scheme.Scheme, nil, Settings{Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range v.Steps {
		step.play(t, trace)
	}
	if len(made) > 0 {
		t.Errorf("%v are not made", made)
	}
	if got, want := jsonOf(sent.sent), jsonOf(v.Mergelogs); got != want {
		t.Errorf("sent %s\nnot  %s", got, want)
	}
}

func (s step) play(t *testing.T, trace *Trace) {
	t.Helper()
	library := trace.Changes()
	ctx := context.Background()
	var causes []cpid.Context
	for _, annotations := range s.Of {
		causes = append(causes, library.Extract(textsIn(annotations)))
	}
	var got cpid.Context
	switch s.Do {
	case "newRoot":
		got = library.NewRoot(ctx, s.detail())
	case "merge":
		got = library.Merge(ctx, causes, s.detail())
	case "plan":
		got = library.Plan(causes, s.detail())
	case "read":
		got = library.Extract(s.Annotations)
	case "derive":
		if derived := cpid.DerivedRoot(s.Cluster, s.UID, s.ResourceVersion); derived != s.CPID {
			t.Errorf("%s gives %s, not %s", s.Do, derived, s.CPID)
		}
		return
	case "found":
		object := &unstructured.Unstructured{}
		if err := json.Unmarshal(s.Object, object); err != nil {
			t.Fatal(err)
		}
		trace.settings.Cluster = s.Cluster
		from := trace.known.of(trace.memory.told(object))
		if from.use(); from.CPID != s.CPID {
			t.Errorf("%s gives %q, not %q", s.Do, from.CPID, s.CPID)
		}
		return
	case "deleteAll":
		if taken := s.takenOf(t); !slices.Equal(taken, s.Taken) {
			t.Errorf("%s takes %v, not %v", s.Do, taken, s.Taken)
		}
		return
	case "accepted":
		library.Accepted(ctx, *s.Context)
		return
	case "write":
		if written := library.Inject(*s.Context, s.Annotations); !maps.Equal(written, s.Written) {
			t.Errorf("%s writes %v, not %v", s.Do, written, s.Written)
		}
		return
	default:
		t.Fatalf("a vector has the step %q, which is not known here", s.Do)
	}
	var want cpid.Context
	if s.Context != nil {
		want = *s.Context
	}
	if got.CPID != want.CPID || !slices.Equal(got.Ancestors, want.Ancestors) {
		t.Errorf("%s gives %v, not %v", s.Do, got, want)
	}
}

func textsIn(annotations map[string]any) map[string]string {
	texts := map[string]string{}
	for key, value := range annotations {
		texts[key], _ = value.(string)
	}
	return texts
}

func (s step) takenOf(t *testing.T) []string {
	t.Helper()
	byLabels, err := labels.Parse(s.Labels)
	if err != nil {
		t.Fatal(err)
	}
	byFields, err := fields.ParseSelector(s.Fields)
	if err != nil {
		t.Fatal(err)
	}
	options := &client.DeleteAllOfOptions{ListOptions: client.ListOptions{Namespace: s.Namespace, LabelSelector: byLabels, FieldSelector: byFields}}
	kind := schema.GroupKind{Kind: "ConfigMap"}
	collection := collectionOf(kind, options, cause{})
	collection.answered = s.Answered
	taken := []string{}
	for _, metadata := range s.Of {
		object := &unstructured.Unstructured{Object: map[string]any{"metadata": metadata}}
		if collection.takes(kind, object, s.Now) {
			taken = append(taken, object.GetName())
		}
	}
	return taken
}

func jsonOf(mergelogs []map[string]any) string {
	if len(mergelogs) == 0 {
		return "[]"
	}
	text, _ := json.Marshal(mergelogs)
	return string(text)
}
