package causeway

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"causeway/cpid"
)

// tracedClient adds the change to writes, and reports them.
type tracedClient struct {
	client.Client
	trace *Trace
}

// Client wraps a client: its writes in a reconcile follow from what the reconcile read.
func (t *Trace) Client(inner client.Client) client.Client { return tracedClient{inner, t} }

func (c tracedClient) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	return tracedReader{c.Client, c.trace}.Get(ctx, key, object, opts...)
}

func (c tracedClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return tracedReader{c.Client, c.trace}.List(ctx, list, opts...)
}

func (c tracedClient) Create(ctx context.Context, object client.Object, opts ...client.CreateOption) error {
	if isAside(c.trace.kinds.of(object)) || len(new(client.CreateOptions).ApplyOptions(opts).DryRun) > 0 {
		return c.Client.Create(ctx, object, opts...)
	}
	return c.trace.writeObject(ctx, "create", "", object, func(ctx context.Context) error {
		return c.Client.Create(ctx, object, opts...)
	})
}

func (c tracedClient) Update(ctx context.Context, object client.Object, opts ...client.UpdateOption) error {
	if isAside(c.trace.kinds.of(object)) || len(new(client.UpdateOptions).ApplyOptions(opts).DryRun) > 0 {
		return c.Client.Update(ctx, object, opts...)
	}
	return c.trace.writeObject(ctx, "update", "", object, func(ctx context.Context) error {
		return c.Client.Update(ctx, object, opts...)
	})
}

func (c tracedClient) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if isAside(c.trace.kinds.of(object)) || len(new(client.PatchOptions).ApplyOptions(opts).DryRun) > 0 {
		return c.Client.Patch(ctx, object, patch, opts...)
	}
	return c.trace.patchObject(ctx, "", object, patch, func(ctx context.Context, patch client.Patch) error {
		return c.Client.Patch(ctx, object, patch, opts...)
	})
}

func (c tracedClient) Apply(ctx context.Context, configuration runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	if len(new(client.ApplyOptions).ApplyOptions(opts).DryRun) > 0 {
		return c.Client.Apply(ctx, configuration, opts...)
	}
	return c.trace.apply(ctx, "", configuration, func(ctx context.Context, marked runtime.ApplyConfiguration) error {
		return c.Client.Apply(ctx, marked, opts...)
	})
}

func (c tracedClient) Delete(ctx context.Context, object client.Object, opts ...client.DeleteOption) error {
	options := new(client.DeleteOptions).ApplyOptions(opts)
	if isAside(c.trace.kinds.of(object)) || len(options.DryRun) > 0 {
		return c.Client.Delete(ctx, object, opts...)
	}
	return c.trace.delete(ctx, c.Client, object, options.Preconditions, opts)
}

func (c tracedClient) DeleteAllOf(ctx context.Context, object client.Object, opts ...client.DeleteAllOfOption) error {
	options := new(client.DeleteAllOfOptions).ApplyOptions(opts)
	gvk := c.trace.kinds.of(object)
	if isAside(gvk) || len(options.DryRun) > 0 {
		return c.Client.DeleteAllOf(ctx, object, opts...)
	}
	w := write{verb: "delete", target: c.trace.kinds.reference(gvk, object)}
	w.target.Namespace = options.Namespace
	return c.trace.send(ctx, w, func(ctx context.Context, change cpid.Context) (accepted, error) {
		if options.ListOptions.Raw != nil { // It may select anything.
			return accepted{}, c.Client.DeleteAllOf(ctx, object, opts...)
		}
		// Informers may deliver the deletions before the answer.
		taken := collectionOf(gvk.GroupKind(), options, cause{Context: change})
		c.trace.collections.begin(taken)
		err := c.Client.DeleteAllOf(ctx, object, opts...)
		c.trace.collections.end(taken, err != nil, c.trace.now())
		return accepted{}, err
	})
}

func (c tracedClient) Status() client.SubResourceWriter { return c.SubResource("status") }

func (c tracedClient) SubResource(name string) client.SubResourceClient {
	return tracedSubResource{c.Client.SubResource(name), c.trace, name}
}

// writeObject sends a whole object with the change. If the write is refused, the object is restored.
func (t *Trace) writeObject(ctx context.Context, verb, subresource string, object client.Object, do func(context.Context) error) error {
	w := write{verb: verb, subresource: subresource, target: t.kinds.reference(t.kinds.of(object), object)}
	if w.target.ResourceVersion != "" {
		// Its annotations are those of its resourceVersion.
		w.own = []seen{t.memory.seenOf(object)}
	} else {
		w.own = []seen{{carried: t.changes.Extract(object.GetAnnotations())}}
	}
	before := t.versionsBefore(object)
	isKnown := func(answer client.Object) bool { return slices.Contains(before, answer.GetResourceVersion()) }
	return t.send(ctx, w, func(ctx context.Context, change cpid.Context) (accepted, error) {
		annotations := object.GetAnnotations()
		// A subresource does not write the annotations of its object.
		if subresource == "" {
			object.SetAnnotations(t.changes.Inject(change, annotations))
		}
		err := do(ctx)
		if subresource == "" && t.isForAnnotations(err) {
			object.SetAnnotations(annotations)
			err = do(ctx)
		}
		if err != nil {
			object.SetAnnotations(annotations)
			return accepted{}, err
		}
		return t.answered(object, isKnown, change), nil
	})
}

// versionsBefore returns the versions that the answer may have when a write changes nothing.
func (t *Trace) versionsBefore(object client.Object) []string {
	if version := object.GetResourceVersion(); version != "" {
		return []string{version}
	}
	return t.memory.versionsAt(placeOf(t.kinds.of(object).GroupKind(), object))
}

// answered evaluates the answer to a write, which is in object. isKnown reports whether an answer is the version before the write.
func (t *Trace) answered(object client.Object, isKnown func(client.Object) bool, change cpid.Context) accepted {
	s := t.memory.seenOf(object)
	isOld := isKnown(object)
	// A write that removes the last finalizer deletes the object: it makes no version, and the answer has the last one. An object with a
	// grace period, such as a Pod, still exists.
	grace := object.GetDeletionGracePeriodSeconds()
	isEnd := object.GetDeletionTimestamp() != nil && len(object.GetFinalizers()) == 0 && (grace == nil || *grace == 0)
	if isOld && !isEnd {
		return accepted{isNothing: true}
	}
	t.wrote(s.reference, change)
	at := placeOf(t.kinds.of(object).GroupKind(), object)
	if isEnd {
		t.memory.forgetWritten(at)
	} else {
		t.memory.noteWritten(at, seen{reference: s.reference, carried: change})
	}
	if isOld {
		s.reference.ResourceVersion = ""
	}
	return accepted{wrote: []cpid.Reference{s.reference}}
}

// delete annotates the object with the change before it deletes it, so that observers of the deletion know the cause.
func (t *Trace) delete(ctx context.Context, inner client.Client, object client.Object, preconditions *v1.Preconditions, opts []client.DeleteOption) error {
	gvk := t.kinds.of(object)
	w := write{verb: "delete", target: t.kinds.reference(gvk, object)}
	w.target.ResourceVersion = ""
	if w.target.UID == "" {
		w.target.UID = t.memory.uidAt(placeOf(gvk.GroupKind(), object))
	}
	return t.send(ctx, w, func(ctx context.Context, change cpid.Context) (accepted, error) {
		var wrote []cpid.Reference
		if !t.settings.LeavesDeletionsUnmarked {
			if marked, ok := t.mark(ctx, inner, object, preconditions, change); ok {
				wrote = append(wrote, marked)
				w.target.UID = marked.UID
				if preconditions != nil && preconditions.ResourceVersion != nil {
					// The version precondition becomes the version that the annotating patch made.
					opts = append(opts, client.Preconditions{UID: preconditions.UID, ResourceVersion: &marked.ResourceVersion})
				}
			}
		}
		// Its informer may deliver the deletion before the answer.
		t.known.noteDeletion(w.target.UID, cause{Context: change})
		if err := inner.Delete(ctx, object, opts...); err != nil {
			// The object stays, and later changes of it are others'.
			t.known.forgetDeletion(w.target.UID)
			return accepted{}, err
		}
		t.memory.forgetWritten(placeOf(gvk.GroupKind(), object))
		return accepted{wrote: append(wrote, w.target)}, nil
	})
}

// mark patches the annotations only. The preconditions of the deletion apply to the patch too.
func (t *Trace) mark(ctx context.Context, inner client.Client, object client.Object, preconditions *v1.Preconditions, change cpid.Context) (cpid.Reference, bool) {
	gvk := t.kinds.of(object)
	marked := &v1.PartialObjectMetadata{}
	marked.SetGroupVersionKind(gvk)
	marked.SetNamespace(object.GetNamespace())
	marked.SetName(object.GetName())
	metadata := map[string]any{"annotations": t.changes.Inject(change, nil)}
	if preconditions != nil && preconditions.UID != nil {
		metadata["uid"] = *preconditions.UID
	}
	if preconditions != nil && preconditions.ResourceVersion != nil {
		metadata["resourceVersion"] = *preconditions.ResourceVersion
	}
	if err := inner.Patch(ctx, marked, mergePatchOf(map[string]any{"metadata": metadata})); err != nil {
		return cpid.Reference{}, false
	}
	t.changes.Accepted(ctx, change)
	reference := t.kinds.reference(gvk, marked)
	t.wrote(reference, change)
	return reference, true
}
