// Package tenant is an operator of another kind than that of WebApps: it applies on the server side, it holds its objects by a
// finalizer and clears up itself, and it has a quota count what it makes. Nothing in it knows of changes.
package tenant

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is that of Tenants.
var GroupVersion = schema.GroupVersion{Group: "example.com", Version: "v1"}

// Finalizer holds a Tenant until what it has is cleared up.
const Finalizer = "example.com/tenant"

// AddToScheme makes Tenants known to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Tenant{}, &TenantList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// Tenant is somebody who has an application of their own, with a limit.
type Tenant struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec,omitempty"`
	Status Status `json:"status,omitempty"`
}

// Spec is what is wanted.
type Spec struct {
	Image    string `json:"image"`
	Replicas int32  `json:"replicas,omitempty"`
	Pods     int32  `json:"pods,omitempty"`
}

// Status is what there is.
type Status struct {
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	ReadyReplicas      int32 `json:"readyReplicas,omitempty"`
}

// TenantList is a list of them.
type TenantList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Tenant `json:"items"`
}

// DeepCopyObject is what controller-gen makes.
func (in *Tenant) DeepCopyObject() runtime.Object {
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// DeepCopyObject is what controller-gen makes.
func (in *TenantList) DeepCopyObject() runtime.Object {
	out := *in
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]Tenant, len(in.Items))
	for i := range in.Items {
		out.Items[i] = *in.Items[i].DeepCopyObject().(*Tenant)
	}
	return &out
}
