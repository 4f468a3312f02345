// Package tenant is an operator that, unlike that of WebApps, uses server-side apply, a finalizer with its own cleanup, and a quota.
// It has no code for Causeway.
package tenant

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API version of Tenants.
var GroupVersion = schema.GroupVersion{Group: "example.com", Version: "v1"}

// Finalizer keeps a Tenant until its objects are deleted.
const Finalizer = "example.com/tenant"

// AddToScheme registers Tenants in a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Tenant{}, &TenantList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// Tenant is an application with a quota.
type Tenant struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec,omitempty"`
	Status Status `json:"status,omitempty"`
}

// Spec is the desired state.
type Spec struct {
	Image    string `json:"image"`
	Replicas int32  `json:"replicas,omitempty"`
	Pods     int32  `json:"pods,omitempty"`
}

// Status is the observed state.
type Status struct {
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	ReadyReplicas      int32 `json:"readyReplicas,omitempty"`
}

// TenantList is a list of Tenants.
type TenantList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Tenant `json:"items"`
}

// DeepCopyObject implements runtime.Object, as controller-gen would generate it.
func (in *Tenant) DeepCopyObject() runtime.Object {
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// DeepCopyObject implements runtime.Object, as controller-gen would generate it.
func (in *TenantList) DeepCopyObject() runtime.Object {
	out := *in
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]Tenant, len(in.Items))
	for i := range in.Items {
		out.Items[i] = *in.Items[i].DeepCopyObject().(*Tenant)
	}
	return &out
}
