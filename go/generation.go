package causeway

import (
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// observedGenerationOf is what the status of an object says was acted on; 0 where it does not say.
func observedGenerationOf(object client.Object) int64 {
	if u, ok := object.(*unstructured.Unstructured); ok {
		observed, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
		return observed
	}
	value := reflect.Indirect(reflect.ValueOf(object))
	for _, name := range []string{"Status", "ObservedGeneration"} {
		if value.Kind() != reflect.Struct {
			return 0
		}
		value = reflect.Indirect(value.FieldByName(name))
		if !value.IsValid() {
			return 0
		}
	}
	if !value.CanInt() {
		return 0
	}
	return value.Int()
}
