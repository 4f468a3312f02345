package causeway

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	mostCollections = 1_024
	// For how long after its answer an informer may tell of what a DeleteAllOf took.
	toldOf = 10 * time.Second
)

// collection says which objects a DeleteAllOf deletes. The API server does not answer which these are.
type collection struct {
	kind      schema.GroupKind
	namespace string // of all where it is empty
	labels    labels.Selector
	fields    fields.Selector
	cause     cause
	answered  time.Time // zero while it is under way
}

func collectionOf(kind schema.GroupKind, options *client.DeleteAllOfOptions, from cause) *collection {
	return &collection{kind: kind, namespace: options.Namespace, labels: options.LabelSelector, fields: options.FieldSelector, cause: from}
}

// takes says whether the call deletes an object that goes. It does not if the object was made after the answer.
func (c *collection) takes(kind schema.GroupKind, object client.Object, now time.Time) bool {
	if c.kind != kind || c.namespace != "" && c.namespace != object.GetNamespace() {
		return false
	}
	if !c.answered.IsZero() && (now.Sub(c.answered) > toldOf || object.GetCreationTimestamp().After(c.answered)) {
		return false
	}
	return (c.labels == nil || c.labels.Matches(labels.Set(object.GetLabels()))) && (c.fields == nil || c.selects(object))
}

// selects matches names and namespaces. Other fields only the API server can read: then it is false.
func (c *collection) selects(object client.Object) bool {
	found := fields.Set{"metadata.name": object.GetName(), "metadata.namespace": object.GetNamespace()}
	for _, one := range c.fields.Requirements() {
		if !found.Has(one.Field) {
			return false
		}
	}
	return c.fields.Matches(found)
}

// collections are the calls under way, and those that were answered lately.
type collections struct {
	mu   sync.Mutex
	list []*collection
}

func (c *collections) begin(one *collection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list[max(0, len(c.list)+1-mostCollections):], one)
}

// end notes that a call was answered. A refused one deletes nothing, and is forgotten.
func (c *collections) end(one *collection, isRefused bool, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one.answered = now
	c.list = slices.DeleteFunc(c.list, func(each *collection) bool {
		return isRefused && each == one || !each.answered.IsZero() && now.Sub(each.answered) > toldOf
	})
}

// of is the change of the newest call that deletes an object.
func (c *collections) of(kind schema.GroupKind, object client.Object, now time.Time) (cause, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range slices.Backward(c.list) {
		if one.takes(kind, object, now) {
			return one.cause, true
		}
	}
	return cause{}, false
}
