package causeway

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// tracedReader notes the reads of a reconcile.
type tracedReader struct {
	client.Reader
	trace *Trace
}

func (r tracedReader) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	err := r.Reader.Get(ctx, key, object, opts...)
	r.trace.noteGet(ctx, key, object, err)
	return err
}

func (r tracedReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := r.Reader.List(ctx, list, opts...)
	r.trace.noteList(ctx, list, err)
	return err
}

// noteGet notes a read. A missing object counts as a read of its deletion, if that is known.
func (t *Trace) noteGet(ctx context.Context, key client.ObjectKey, object client.Object, err error) {
	w := workIn(ctx)
	gvk := t.kinds.of(object)
	if w == nil || isAside(gvk) {
		return
	}
	if err == nil {
		s := t.memory.read(object)
		w.read(s, t.known.of(s))
		return
	}
	if !apierrors.IsNotFound(err) {
		return
	}
	if s, ok := t.memory.tombstone(gvk.GroupKind(), key); ok {
		w.read(s, t.known.of(s))
	}
}

func (t *Trace) noteList(ctx context.Context, list client.ObjectList, err error) {
	w := workIn(ctx)
	if err != nil || w == nil {
		return
	}
	_ = meta.EachListItem(list, func(item runtime.Object) error {
		if object, ok := item.(client.Object); ok && !isAside(t.kinds.of(object)) {
			s := t.memory.read(object)
			w.read(s, t.known.of(s))
		}
		return nil
	})
}
