package causeway

import (
	"context"
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"causeway/cpid"
)

// patchObject sends a patch, with the change if it has a place for annotations.
func (t *Trace) patchObject(ctx context.Context, subresource string, object client.Object, patch client.Patch, do func(context.Context, client.Patch) error) error {
	data, err := patch.Data(object)
	if err != nil || string(data) == "{}" {
		return do(ctx, patch) // It fails in its own way, or changes nothing.
	}
	w := write{verb: "patch", subresource: subresource, target: t.kinds.reference(t.kinds.of(object), object), own: t.overwritten(object)}
	if patch.Type() == types.ApplyPatchType {
		w.verb = "apply"
	}
	isKnown := t.knownBefore(object, subresource, data)
	return t.send(ctx, w, func(ctx context.Context, change cpid.Context) (accepted, error) {
		sent := client.RawPatch(patch.Type(), data)
		if subresource == "" {
			sent = t.markedPatch(patch.Type(), data, change)
		}
		err := do(ctx, sent)
		if subresource == "" && t.isForAnnotations(err) {
			err = do(ctx, client.RawPatch(patch.Type(), data))
		}
		if err != nil {
			return accepted{}, err
		}
		return t.answered(object, isKnown, change), nil
	})
}

// knownBefore returns a test whether the answer to a patch is as before. If another writer wrote the status and the informer lags, the
// version is new though the patch changed nothing, so the content is compared; not for patches of status or with a version.
func (t *Trace) knownBefore(object client.Object, subresource string, patch []byte) func(client.Object) bool {
	versions := t.versionsBefore(object)
	held, isHeld := t.memory.heldAt(placeOf(t.kinds.of(object).GroupKind(), object))
	var body struct {
		Metadata struct{ ResourceVersion string }
		Status   json.RawMessage
	}
	isOfContent := subresource == "" && json.Unmarshal(patch, &body) == nil && body.Status == nil && body.Metadata.ResourceVersion == ""
	return func(answer client.Object) bool {
		if slices.Contains(versions, answer.GetResourceVersion()) {
			return true
		}
		if !isHeld || !isOfContent || held.uid != string(answer.GetUID()) {
			return false
		}
		key := t.changes.Keys().CPID
		return factsOf(answer, key).isTheSame(held.facts) || factsOf(t.typed(answer), key).isTheSame(held.facts)
	}
}

// typed converts an unstructured object to its Go type, as informers hold it, if the scheme knows it.
func (t *Trace) typed(object client.Object) client.Object {
	u, ok := object.(*unstructured.Unstructured)
	if !ok || t.kinds.scheme == nil {
		return object
	}
	made, err := t.kinds.scheme.New(u.GroupVersionKind())
	if err != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, made) != nil {
		return object
	}
	if of, ok := made.(client.Object); ok {
		return of
	}
	return object
}

// overwritten is the version that a patch overwrites.
func (t *Trace) overwritten(object client.Object) []seen {
	if object.GetResourceVersion() != "" {
		// Its annotations are those of the version that it says it is of.
		return []seen{t.memory.seenOf(object)}
	}
	return []seen{t.memory.overwritten(placeOf(t.kinds.of(object).GroupKind(), object))}
}

// markedPatch adds the change to a patch. A JSON patch, or a patch that removes annotations, is returned unchanged: additions would be
// lost or stop the removal. Only this process knows the change then.
func (t *Trace) markedPatch(kind types.PatchType, data []byte, change cpid.Context) client.Patch {
	var body map[string]any
	if kind == types.JSONPatchType || utiljson.Unmarshal(data, &body) != nil || !t.markBody(body, change) {
		return client.RawPatch(kind, data)
	}
	marked, err := json.Marshal(body)
	if err != nil {
		return client.RawPatch(kind, data)
	}
	return client.RawPatch(kind, marked)
}

func (t *Trace) markBody(body map[string]any, change cpid.Context) bool {
	metadata, ok := partOf(body, "metadata")
	if !ok || body["$patch"] == "delete" {
		return false
	}
	annotations, ok := partOf(metadata, "annotations")
	if !ok || metadata["$patch"] == "delete" || annotations["$patch"] == "delete" {
		return false
	}
	given := make(map[string]string, len(annotations))
	for key, value := range annotations {
		text, _ := value.(string)
		given[key] = text
	}
	marked := t.changes.Inject(change, given)
	keys := t.changes.Keys()
	if marked[keys.CPID] != change.CPID {
		return false
	}
	annotations[keys.CPID], annotations[keys.Ancestors] = marked[keys.CPID], marked[keys.Ancestors]
	return true
}

// partOf returns a member of a body, created if missing; false if it is not an object, such as null.
func partOf(body map[string]any, name string) (map[string]any, bool) {
	value, isThere := body[name]
	if !isThere {
		part := map[string]any{}
		body[name] = part
		return part, true
	}
	part, ok := value.(map[string]any)
	return part, ok
}

// apply sends a server-side apply of the configuration's JSON, with the change.
func (t *Trace) apply(ctx context.Context, subresource string, configuration runtime.ApplyConfiguration, do func(context.Context, runtime.ApplyConfiguration) error) error {
	object := &unstructured.Unstructured{}
	text, err := json.Marshal(configuration)
	if err == nil {
		err = utiljson.Unmarshal(text, &object.Object)
	}
	if err != nil || isAside(object.GroupVersionKind()) {
		return do(ctx, configuration)
	}
	w := write{verb: "apply", subresource: subresource, target: t.kinds.reference(object.GroupVersionKind(), object)}
	w.own = append(t.overwritten(object), seen{carried: t.changes.Extract(object.GetAnnotations())})
	isKnown := t.knownBefore(object, subresource, text)
	return t.send(ctx, w, func(ctx context.Context, change cpid.Context) (accepted, error) {
		plain := object
		if subresource == "" {
			plain = object.DeepCopy()
			t.markBody(object.Object, change)
		}
		err := do(ctx, client.ApplyConfigurationFromUnstructured(object))
		if subresource == "" && t.isForAnnotations(err) {
			object.Object = plain.Object
			err = do(ctx, client.ApplyConfigurationFromUnstructured(object))
		}
		if err != nil {
			return accepted{}, err
		}
		if text, err := json.Marshal(object); err == nil {
			_ = json.Unmarshal(text, configuration) // Ignored: the write is already done.
		}
		return t.answered(object, isKnown, change), nil
	})
}

func mergePatchOf(body map[string]any) client.Patch {
	text, _ := json.Marshal(body) // Cannot fail: it holds only strings.
	return client.RawPatch(types.MergePatchType, text)
}
