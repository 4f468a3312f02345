package causeway

import (
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Clocks of API servers differ, and go back; what stands in managedFields anybody may have written. Whatever comes is looked at, and a
// version that carries a new CPID is always of whoever wrote that.
func TestOddTimesAndFieldsAreLookedAt(t *testing.T) {
	const mark = "causeway.io/cpid"
	random := rand.New(rand.NewPCG(1, 2))
	fields := []string{"", "{}", "null", "[]", "{", `{"f:metadata":{"f:annotations":{"f:causeway.io/cpid":{}}}}`,
		`{"f:data":{},"f:metadata":7}`, `{"f:status":{}}`, "\xff"}
	version := func(number int) *corev1.ConfigMap {
		object := &corev1.ConfigMap{}
		object.UID, object.ResourceVersion = "u", []string{"", "x", "-1", "7", "18446744073709551616", "8"}[random.IntN(6)]
		object.Generation = int64(random.IntN(3) - 1)
		object.Annotations = map[string]string{mark: []string{"", "a", "b"}[random.IntN(3)]}
		object.Data = map[string]string{"number": string(rune('a' + number%3))}
		for range random.IntN(4) {
			entry := metav1.ManagedFieldsEntry{Manager: []string{"", "kubectl", "operator"}[random.IntN(3)]}
			if random.IntN(3) > 0 {
				at := metav1.NewTime(time.Unix(int64(random.IntN(3)-1)*4_000_000_000, 0))
				entry.Time = &at
			}
			if text := fields[random.IntN(len(fields))]; text != "" {
				entry.FieldsV1 = metav1.NewFieldsV1(text)
			}
			object.ManagedFields = append(object.ManagedFields, entry)
		}
		return object
	}
	for number := range 20_000 {
		before, after := factsOf(version(number), mark), factsOf(version(number+1), mark)
		_ = before.isByAnother(nil)
		if after.cpid != "" && after.cpid != before.cpid && after.isByAnother(&before) {
			t.Fatalf("%+v after %+v is taken for another's", after, before)
		}
		_, _ = after.isNewerThan(before), after.isOfUnpatched()
	}
}

// Controllers that want to know that a Secret changed, and not what is in it, cache metadata alone.
func TestAWriteIsRecognisedByMetadataAlone(t *testing.T) {
	const mark = "causeway.io/cpid"
	secret := func(version string, dataAt, statusAt int64) facts {
		object := &metav1.PartialObjectMetadata{}
		object.UID, object.ResourceVersion = "u", version
		for _, one := range []struct {
			fields, subresource string
			at                  int64
		}{{`{"f:data":{}}`, "", dataAt}, {`{"f:status":{}}`, "status", statusAt}} {
			at := metav1.NewTime(time.Unix(one.at, 0))
			object.ManagedFields = append(object.ManagedFields, metav1.ManagedFieldsEntry{
				Manager: "kubectl", Subresource: one.subresource, Time: &at, FieldsV1: metav1.NewFieldsV1(one.fields)})
		}
		return factsOf(object, mark)
	}
	before := secret("1", 10, 10)
	if now := secret("2", 20, 10); !now.isByAnother(&before) {
		t.Error("a write of the data is not recognised")
	}
	if now := secret("2", 10, 20); now.isByAnother(&before) {
		t.Error("a write of the status is taken for one of the data")
	}
}
