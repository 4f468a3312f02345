package causeway

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The Deployment controller gives its ReplicaSets the annotations of the Deployment.
const copiesAnnotations = "kube-controller-manager"

var digestSeed = maphash.MakeSeed()

// facts describe one version of an object, to compare it with the next and to find its writer.
type facts struct {
	version string
	cpid    string // the annotation, unparsed
	// generation is 0 for kinds without generations, such as ConfigMaps.
	generation int64
	content    uint64 // a digest of all but metadata and status
	handles    uint64 // a digest of the labels, finalizers and owners
	notes      uint64 // a digest of the annotations
	writers    []writer
	hasWriters bool // a cache may leave managedFields out
	isOwned    bool // it has an owner
	isGoing    bool // it is being deleted and waits for finalizers
	isActedOn  bool // observedGeneration has reached the generation
}

// writer is an entry of managedFields with more than metadata and status.
type writer struct {
	name, manager string
	time          int64
	marks         bool // it wrote the CPID
}

func factsOf(object client.Object, cpidKey string) facts {
	f := facts{
		version: object.GetResourceVersion(), cpid: object.GetAnnotations()[cpidKey], generation: object.GetGeneration(),
		content:    contentOf(object),
		handles:    digestOf(object.GetLabels(), object.GetFinalizers(), object.GetOwnerReferences()),
		notes:      notesOf(object.GetAnnotations()),
		hasWriters: len(object.GetManagedFields()) > 0,
		isOwned:    metav1.GetControllerOf(object) != nil,
		isGoing:    object.GetDeletionTimestamp() != nil,
	}
	f.isActedOn = f.generation > 0 && observedGenerationOf(object) >= f.generation
	mark := fmt.Sprintf("%q:", "f:"+cpidKey)
	for _, entry := range object.GetManagedFields() {
		if w, ok := writerOf(entry, mark); ok {
			f.writers = append(f.writers, w)
		}
	}
	return f
}

// isNewerThan reports whether this version is later than another of the same object; true for any other if versions are not numbers.
func (f facts) isNewerThan(before facts) bool {
	own, err1 := strconv.ParseUint(f.version, 10, 64)
	other, err2 := strconv.ParseUint(before.version, 10, 64)
	if err1 != nil || err2 != nil {
		return f.version != before.version
	}
	return own > other
}

// isByAnother reports whether a writer without CPIDs made the version. before is the previously known version, if any; such a writer
// leaves its CPID on the object.
func (f facts) isByAnother(before *facts) bool {
	if before == nil {
		return f.isFoundByAnother()
	}
	if f.cpid != "" && f.cpid != before.cpid {
		return false
	}
	isOther := f.generation > before.generation
	if f.generation == 0 || before.generation == 0 {
		isOther = f.content != before.content
	}
	if !isOther {
		return false
	}
	if f.cpid == "" {
		return !f.isOwned
	}
	return f.hasWriters && !slices.ContainsFunc(f.writersSince(before), func(w writer) bool { return w.marks })
}

// isFoundByAnother is the same without an earlier version, as after a restart. A version that was acted on was last written for its
// status, not by an author. That does not hold for owned objects, since other controllers than their creator act on them.
func (f facts) isFoundByAnother() bool {
	if f.isActedOn && !f.isOwned {
		return false
	}
	if f.cpid == "" {
		return !f.isOwned
	}
	return f.hasLaterWriter()
}

// holdsTheSame compares all but annotations and status. It ignores generations, which Deployments count for annotations too.
func (f facts) holdsTheSame(before facts) bool {
	return f.content == before.content && f.handles == before.handles
}

// isTheSame reports whether the versions differ at most in status.
func (f facts) isTheSame(before facts) bool {
	return f.generation == before.generation && f.isGoing == before.isGoing && f.notes == before.notes && f.holdsTheSame(before)
}

// isOfUnpatched reports whether an unpatched controller created the object: it carries no CPID, or a copied one.
func (f facts) isOfUnpatched() bool {
	if !f.isOwned || f.cpid == "" {
		return f.isOwned
	}
	isCopied := false
	for _, w := range f.writers {
		if w.marks && w.manager != copiesAnnotations {
			return false
		}
		isCopied = isCopied || w.marks
	}
	return isCopied
}

// writersSince returns the writers with a new entry or a new time (an entry that lost a field to another writer keeps its time). If
// there is none, as within one second, it returns the last writers.
func (f facts) writersSince(before *facts) []writer {
	var changed, last []writer
	for _, w := range f.writers {
		isAsBefore := slices.ContainsFunc(before.writers, func(b writer) bool { return b.name == w.name && b.time == w.time })
		if !isAsBefore {
			changed = append(changed, w)
		}
		if len(last) > 0 && w.time > last[0].time {
			last = nil
		}
		if len(last) == 0 || w.time == last[0].time {
			last = append(last, w)
		}
	}
	if len(changed) > 0 {
		return changed
	}
	return last
}

// foreignWriter is the manager that made a version without a CPID; empty if managedFields name none or several candidates.
func (f facts) foreignWriter(before *facts) string {
	earlier := facts{writers: f.writers}
	if before != nil {
		earlier = *before
	}
	manager := ""
	for _, w := range f.writersSince(&earlier) {
		if manager != "" && w.manager != manager {
			return ""
		}
		manager = w.manager
	}
	return manager
}

// hasLaterWriter reports whether another writer wrote after the writer of the CPID; for use without an earlier version.
func (f facts) hasLaterWriter() bool {
	var marked, other int64
	for _, w := range f.writers {
		if w.marks {
			marked = max(marked, w.time)
		} else {
			other = max(other, w.time)
		}
	}
	return marked > 0 && other > marked
}

func writerOf(entry metav1.ManagedFieldsEntry, mark string) (writer, bool) {
	var fields map[string]json.RawMessage
	if entry.FieldsV1 != nil {
		_ = json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) // What cannot be read has no fields.
	}
	isSubstance := false
	for name := range fields {
		isSubstance = isSubstance || (name != "f:metadata" && name != "f:status")
	}
	marks := strings.Contains(string(fields["f:metadata"]), mark)
	if !marks && (!isSubstance || entry.Subresource == "status") {
		return writer{}, false
	}
	w := writer{manager: entry.Manager, marks: marks}
	w.name = strings.Join([]string{entry.Manager, string(entry.Operation), entry.Subresource}, " ")
	if entry.Time != nil {
		w.time = entry.Time.Unix()
	}
	return w, true
}

func contentOf(object client.Object) uint64 {
	if partial, ok := object.(*metav1.PartialObjectMetadata); ok {
		return authorsOf(partial)
	}
	text, err := json.Marshal(object)
	if err != nil {
		return 0
	}
	var parts map[string]json.RawMessage
	if json.Unmarshal(text, &parts) != nil {
		return 0
	}
	for _, name := range []string{"metadata", "status", "kind", "apiVersion"} {
		delete(parts, name)
	}
	return digestOf(parts)
}

// noMark occurs in no list of fields.
const noMark = "\x00"

// authorsOf replaces the content digest if the cache holds only metadata: who wrote which fields, and when.
func authorsOf(object *metav1.PartialObjectMetadata) uint64 {
	var entries []any
	for _, entry := range object.GetManagedFields() {
		if _, ok := writerOf(entry, noMark); ok {
			entries = append(entries, entry)
		}
	}
	return digestOf(entries...)
}

// revisionKey is an annotation that the Deployment controller writes with the status.
const revisionKey = "deployment.kubernetes.io/revision"

func notesOf(annotations map[string]string) uint64 {
	if _, ok := annotations[revisionKey]; ok {
		annotations = maps.Clone(annotations)
		delete(annotations, revisionKey)
	}
	return digestOf(annotations)
}

func digestOf(values ...any) uint64 {
	text, _ := json.Marshal(values) // Cannot fail: the values were decoded from JSON.
	return maphash.Bytes(digestSeed, text)
}
