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

// facts tell one version of an object from the next, and who wrote it.
type facts struct {
	version string
	cpid    string // as it is written
	// generation is 0 where objects of this kind count none, as ConfigMaps.
	generation int64
	content    uint64 // a digest of all but metadata and status
	handles    uint64 // a digest of the labels, finalizers and owners
	notes      uint64 // a digest of the annotations
	writers    []writer
	hasWriters bool // a cache may leave managedFields out
	isOwned    bool // another object is what made it
	isGoing    bool // somebody asked for its deletion, which waits for finalizers
	isActedOn  bool // its status says that what is wanted of it was acted on
}

// writer is an entry of managedFields that is about more than metadata and status.
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

// isNewerThan says whether this version came after another of the same place; anything does where versions are no numbers.
func (f facts) isNewerThan(before facts) bool {
	own, err1 := strconv.ParseUint(f.version, 10, 64)
	other, err2 := strconv.ParseUint(before.version, 10, 64)
	if err1 != nil || err2 != nil {
		return f.version != before.version
	}
	return own > other
}

// isByAnother says whether a writer that carries no CPID made a version. before is the version known before it, if any: its CPID
// stands there still, though the object is another.
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

// isFoundByAnother is for where nothing is known of earlier versions, as after a restart. A version whose status says that it was acted
// on is that of the status, and no author's; but what another object made is acted on by controllers of another kind than the one that
// made it.
func (f facts) isFoundByAnother() bool {
	if f.isActedOn && !f.isOwned {
		return false
	}
	if f.cpid == "" {
		return !f.isOwned
	}
	return f.hasLaterWriter()
}

// holdsTheSame leaves annotations and status aside. Deployments count a generation for annotations too.
func (f facts) holdsTheSame(before facts) bool {
	return f.content == before.content && f.handles == before.handles
}

// isTheSame says whether nothing but the status is another.
func (f facts) isTheSame(before facts) bool {
	return f.generation == before.generation && f.isGoing == before.isGoing && f.notes == before.notes && f.holdsTheSame(before)
}

// isOfUnpatched says whether a controller made it that says nothing of changes: it carries no CPID, or one that was copied.
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

// writersSince are those whose entry is new or of another time, since one that lost a field to another writer keeps its time; where
// none is, as within a second, those who wrote last.
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

// foreignWriter is the manager that made a version without a CPID; empty where managedFields name none, or several that may have.
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

// hasLaterWriter says, where nothing is known of earlier versions, whether somebody wrote after the one that wrote the CPID.
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

// noMark stands in no list of fields.
const noMark = "\x00"

// authorsOf stands for the content where a cache holds metadata alone: who wrote which fields of it, and when.
func authorsOf(object *metav1.PartialObjectMetadata) uint64 {
	var entries []any
	for _, entry := range object.GetManagedFields() {
		if _, ok := writerOf(entry, noMark); ok {
			entries = append(entries, entry)
		}
	}
	return digestOf(entries...)
}

// revisionKey is that of an annotation which the Deployment controller writes with the status.
const revisionKey = "deployment.kubernetes.io/revision"

func notesOf(annotations map[string]string) uint64 {
	if _, ok := annotations[revisionKey]; ok {
		annotations = maps.Clone(annotations)
		delete(annotations, revisionKey)
	}
	return digestOf(annotations)
}

func digestOf(values ...any) uint64 {
	text, _ := json.Marshal(values) // What came as JSON becomes JSON.
	return maphash.Bytes(digestSeed, text)
}
