package causeway

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"causeway/cpid"
)

// Clocks of API servers differ and go back, and anybody may write managedFields. Any input is accepted, and a version with a new CPID is
// never taken for a foreign write.
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

// Controllers that need only know that a Secret changed cache metadata alone.
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

// A person writes the spec, and the operator acts on it and writes the status; the operator restarts at any point. An operator that added
// a finalizer has annotated the object with the change of that time.
func TestAnOperatorThatStartsAnewBeginsNoChangeForItsOwnStatus(t *testing.T) {
	const mark = "00000000-0000-4000-8000-000000000001"
	random := rand.New(rand.NewPCG(3, 4))
	at := func(second int64) *metav1.Time { return new(metav1.NewTime(time.Unix(second, 0))) }
	marks := metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:causeway.io/cpid":{}}},"f:spec":{}}`)
	writers := []metav1.ManagedFieldsEntry{{Manager: "operator", Time: at(1), FieldsV1: marks},
		{Manager: "kubectl", Time: at(2), FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}}
	for range 1_000 {
		trace, err := New(scheme.Scheme, nil, Settings{Cluster: "mine"})
		if err != nil {
			t.Fatal(err)
		}
		object, want, before, acted := &policyv1.PodDisruptionBudget{}, "", int64(0), int64(0)
		object.Name, object.UID = "web", "u"
		isInConditions := random.IntN(2) == 0
		if random.IntN(2) == 0 {
			object.Annotations, object.ManagedFields = map[string]string{cpid.DefaultKeys.CPID: mark}, writers
			want = mark
		}
		start := random.IntN(8)
		for version := range 8 {
			step := random.IntN(3)
			object = object.DeepCopy()
			object.ResourceVersion = strconv.Itoa(version + 1)
			if version == 0 || step == 0 {
				object.Generation++
			} else if step == 1 {
				acted = object.Generation
			}
			if isInConditions && acted > 0 { // One that stands still is behind.
				object.Status.Conditions = []metav1.Condition{{ObservedGeneration: 1}, {ObservedGeneration: acted}, {}}
			} else {
				object.Status.ObservedGeneration = acted
			}
			if version < start {
				continue
			}
			isActedOn := acted == object.Generation
			if object.Generation > before && !(version == start && isActedOn) {
				want = cpid.DerivedRoot("mine", "u", object.ResourceVersion)
			}
			before = object.Generation
			if got := trace.known.of(trace.memory.told(object)); got.CPID != want {
				t.Fatalf("version %d, of which the first seen is %d, is of %q, not of %q", version, start, got.CPID, want)
			}
		}
	}
}
