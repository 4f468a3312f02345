package causeway

import (
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// observedGenerationOf is the highest observedGeneration in the status and its conditions; 0 without one.
func observedGenerationOf(object client.Object) int64 {
	if u, ok := object.(*unstructured.Unstructured); ok {
		observed, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
		conditions, _, _ := unstructured.NestedFieldNoCopy(u.Object, "status", "conditions")
		each, _ := conditions.([]any)
		for _, one := range each {
			condition, _ := one.(map[string]any)
			of, _, _ := unstructured.NestedInt64(condition, "observedGeneration")
			observed = max(observed, of)
		}
		return observed
	}
	status := fieldOf(reflect.Indirect(reflect.ValueOf(object)), "Status")
	observed := numberIn(status)
	if conditions := fieldOf(status, "Conditions"); conditions.Kind() == reflect.Slice {
		for i := range conditions.Len() {
			observed = max(observed, numberIn(reflect.Indirect(conditions.Index(i))))
		}
	}
	return observed
}

func numberIn(value reflect.Value) int64 {
	if number := fieldOf(value, "ObservedGeneration"); number.CanInt() {
		return number.Int()
	}
	return 0
}

// fieldOf returns a field, or the value that it points to; the zero Value if there is none.
func fieldOf(value reflect.Value, name string) reflect.Value {
	if value.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return reflect.Indirect(value.FieldByName(name))
}
