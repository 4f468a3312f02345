package causeway

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"causeway/cpid"
)

// kinds finds the type of objects, since typed objects do not carry it.
type kinds struct {
	scheme    *runtime.Scheme
	mapper    meta.RESTMapper
	resources sync.Map // of schema.GroupVersionKind to the resource it is served as
}

func newKinds(scheme *runtime.Scheme, mapper meta.RESTMapper) *kinds {
	return &kinds{scheme: scheme, mapper: mapper}
}

func (k *kinds) of(object runtime.Object) schema.GroupVersionKind {
	gvk, err := apiutil.GVKForObject(object, k.scheme)
	if err != nil {
		return object.GetObjectKind().GroupVersionKind()
	}
	return gvk
}

func (k *kinds) resourceOf(gvk schema.GroupVersionKind) string {
	if known, ok := k.resources.Load(gvk); ok {
		return known.(string)
	}
	if k.mapper == nil {
		return cpid.ResourceOfKind(gvk.Kind)
	}
	mapping, err := k.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		// Not cached: the mapper may know it later, as when a CustomResourceDefinition is created.
		return cpid.ResourceOfKind(gvk.Kind)
	}
	k.resources.Store(gvk, mapping.Resource.Resource)
	return mapping.Resource.Resource
}

func (k *kinds) reference(gvk schema.GroupVersionKind, object client.Object) cpid.Reference {
	return cpid.Reference{
		APIVersion: gvk.GroupVersion().String(), Resource: k.resourceOf(gvk),
		Namespace: object.GetNamespace(), Name: object.GetName(),
		UID: string(object.GetUID()), ResourceVersion: object.GetResourceVersion(),
	}
}

// isAside reports whether objects of a kind are written all the time or not stored, and take part in no change.
func isAside(gvk schema.GroupVersionKind) bool {
	switch gvk.Group {
	case "coordination.k8s.io":
		return gvk.Kind == "Lease"
	case "", "events.k8s.io":
		return gvk.Kind == "Event"
	case "authentication.k8s.io", "authorization.k8s.io":
		return true
	}
	return false
}
