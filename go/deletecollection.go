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
	// How long after the answer to a DeleteAllOf informers may still deliver its deletions.
	toldOf = 10 * time.Second
)

// collection selects the objects that a DeleteAllOf deletes, which its answer does not list.
type collection struct {
	kind      schema.GroupKind
	namespace string // empty for all namespaces
	labels    labels.Selector
	fields    fields.Selector
	cause     cause
	answered  time.Time // zero while in flight
}

func collectionOf(kind schema.GroupKind, options *client.DeleteAllOfOptions, from cause) *collection {
	return &collection{kind: kind, namespace: options.Namespace, labels: options.LabelSelector, fields: options.FieldSelector, cause: from}
}

// takes reports whether the call deletes this object. Objects created after the answer are not.
func (c *collection) takes(kind schema.GroupKind, object client.Object, now time.Time) bool {
	if c.kind != kind || c.namespace != "" && c.namespace != object.GetNamespace() {
		return false
	}
	if !c.answered.IsZero() && (now.Sub(c.answered) > toldOf || object.GetCreationTimestamp().After(c.answered)) {
		return false
	}
	return (c.labels == nil || c.labels.Matches(labels.Set(object.GetLabels()))) && (c.fields == nil || c.selects(object))
}

// selects evaluates field selectors on name and namespace; false for other fields, which only the API server can evaluate.
func (c *collection) selects(object client.Object) bool {
	found := fields.Set{"metadata.name": object.GetName(), "metadata.namespace": object.GetNamespace()}
	for _, one := range c.fields.Requirements() {
		if !found.Has(one.Field) {
			return false
		}
	}
	return c.fields.Matches(found)
}

// collections are the calls in flight and those answered recently.
type collections struct {
	mu   sync.Mutex
	list []*collection
}

func (c *collections) begin(one *collection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list[max(0, len(c.list)+1-mostCollections):], one)
}

// end notes an answer. A refused call deletes nothing and is forgotten.
func (c *collections) end(one *collection, isRefused bool, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one.answered = now
	c.list = slices.DeleteFunc(c.list, func(each *collection) bool {
		return isRefused && each == one || !each.answered.IsZero() && now.Sub(each.answered) > toldOf
	})
}

// of returns the change of the newest call that deletes an object.
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
