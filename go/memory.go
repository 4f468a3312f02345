package causeway

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"causeway/changes"
	"causeway/cpid"
	"causeway/internal/bounded"
)

const (
	mostTombstones = 4_096
	// How long an annotation-only patch announces the write after it, which has no place for annotations.
	announced = 10 * time.Second
)

// place is the name of an object; it may be replaced by another object of the same name unseen.
type place struct {
	kind            schema.GroupKind
	namespace, name string
}

// remembered is the last seen version of an object.
type remembered struct {
	uid       string
	facts     facts
	ancestors string // the annotation, unparsed
	// isMarked: the last write only set the CPID, as before a deletion, and nothing but the status changed since.
	isMarked       bool
	announcedUntil time.Time
}

// memory has what informers delivered for each object: who changed it, if visible, and its deletion. It holds an entry for each object in
// an informer, and for some deleted ones.
type memory struct {
	trace      *Trace
	mu         sync.Mutex
	watched    map[schema.GroupKind]bool
	objects    map[place]remembered
	tombstones *bounded.Map[place, seen]
	// written are the last versions that this process made.
	written *bounded.Map[place, seen]
}

func newMemory(t *Trace) *memory {
	return &memory{
		trace: t, watched: map[schema.GroupKind]bool{}, objects: map[place]remembered{},
		tombstones: bounded.NewMap[place, seen](mostTombstones, nil),
		written:    bounded.NewMap[place, seen](mostVersions, nil),
	}
}

func placeOf(kind schema.GroupKind, object client.Object) place {
	return place{kind, object.GetNamespace(), object.GetName()}
}

// watch notes that an informer holds the objects of a kind.
func (m *memory) watch(kind schema.GroupKind) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.watched[kind] = true
}

// unwatch forgets the objects of a kind that no informer holds any more.
func (m *memory) unwatch(kind schema.GroupKind) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.watched, kind)
	for at, one := range m.objects {
		if at.kind == kind {
			m.trace.known.forgetCurrent(one.uid)
			delete(m.objects, at)
		}
	}
}

func (m *memory) seenOf(object client.Object) seen {
	gvk := m.trace.kinds.of(object)
	return seen{m.trace.kinds.reference(gvk, object), m.trace.changes.Extract(object.GetAnnotations()), object.GetGeneration()}
}

// told is called by the handler of an informer. It marks the kind as watched again, if another informer of it was removed.
func (m *memory) told(object client.Object) seen {
	m.watch(m.trace.kinds.of(object).GroupKind())
	return m.see(object, true)
}

// read is called for objects that were read. It adds no entry for an object that no informer holds, since nothing would remove it.
func (m *memory) read(object client.Object) seen {
	return m.see(object, false)
}

func (m *memory) see(object client.Object, isHeld bool) seen {
	s := m.seenOf(object)
	// An object with the CPID of a planned write proves that it was accepted, even if its answer was lost.
	m.trace.changes.Accepted(context.Background(), s.carried)
	kind := m.trace.kinds.of(object).GroupKind()
	at := placeOf(kind, object)
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.reference.UID == "" || !m.watched[kind] {
		return s
	}
	there, isThere := m.objects[at]
	if !isThere && !isHeld {
		return s
	}
	version := facts{version: s.reference.ResourceVersion}
	if isThere && !version.isNewerThan(there.facts) {
		return s
	}
	if gone, ok := m.tombstones.Get(at); ok && gone.reference.UID == s.reference.UID {
		return s
	}
	m.tombstones.Delete(at)
	f := factsOf(object, m.trace.changes.Keys().CPID)
	before := m.beforeOf(there, isThere, s.reference.UID)
	m.trace.noteSeen(object, s, f, before)
	next := rememberedOf(s, f, before, m.trace.now())
	next.ancestors = object.GetAnnotations()[m.trace.changes.Keys().Ancestors]
	m.objects[at] = next
	return s
}

// beforeOf is the previous version. If the name now belongs to another object, the deletion of the first was missed.
func (m *memory) beforeOf(there remembered, isThere bool, uid string) *remembered {
	if isThere && there.uid != uid {
		m.trace.known.forgetCurrent(there.uid)
		return nil
	}
	if !isThere {
		return nil
	}
	return &there
}

func rememberedOf(s seen, f facts, before *remembered, now time.Time) remembered {
	next := remembered{uid: s.reference.UID, facts: f}
	if before == nil || !f.holdsTheSame(before.facts) {
		return next
	}
	next.isMarked, next.announcedUntil = before.isMarked, before.announcedUntil
	if before.facts.cpid != f.cpid {
		next.isMarked, next.announcedUntil = true, now.Add(announced)
	}
	return next
}

// noteDeleted takes the last version of an object that was deleted.
func (m *memory) noteDeleted(object client.Object) seen {
	s := m.seenOf(object)
	at := placeOf(m.trace.kinds.of(object).GroupKind(), object)
	m.mu.Lock()
	defer m.mu.Unlock()
	uid := s.reference.UID
	if gone, ok := m.tombstones.Get(at); uid == "" || ok && gone.reference.UID == uid {
		return s
	}
	there, isThere := m.objects[at]
	if isThere && there.uid != uid && there.facts.isNewerThan(facts{version: s.reference.ResourceVersion}) {
		return s // The name belongs to a newer object already.
	}
	before := m.beforeOf(there, isThere, uid)
	known := m.trace.known
	// The writer that removed the last finalizer may have set a CPID.
	c, ok := known.ofCurrent(uid)
	if !ok || before == nil || !before.facts.isGoing {
		if c, ok = known.ofDeletion(uid); !ok {
			c, ok = m.trace.deletionOf(object, s, before)
		}
	}
	delete(m.objects, at)
	m.tombstones.Set(at, s)
	known.forgetCurrent(uid)
	if ok {
		known.noteVersion(s.reference, c)
		known.noteDeletion(uid, c)
	}
	return s
}

// versionsAt returns the known versions of an object: the answer to a write that changes nothing has one of them.
func (m *memory) versionsAt(at place) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	versions := make([]string, 0, 2)
	if there, ok := m.objects[at]; ok {
		versions = append(versions, there.facts.version)
	}
	if written, ok := m.written.Get(at); ok {
		versions = append(versions, written.reference.ResourceVersion)
	}
	return versions
}

// heldAt is the version that an informer holds; false if this process wrote a later one.
func (m *memory) heldAt(at place) (remembered, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	there, ok := m.objects[at]
	written, isWritten := m.written.Get(at)
	version := facts{version: written.reference.ResourceVersion}
	return there, ok && !(isWritten && written.reference.UID == there.uid && version.isNewerThan(there.facts))
}

// overwritten is the version that a write without resourceVersion overwrites: the one in an informer, or a later one that this process
// wrote. If an informer follows the kind, an object missing from it is gone.
func (m *memory) overwritten(at place) seen {
	m.mu.Lock()
	defer m.mu.Unlock()
	there, isThere := m.objects[at]
	written, isWritten := m.written.Get(at)
	if !isThere {
		if m.watched[at.kind] {
			return seen{}
		}
		return written
	}
	version := facts{version: written.reference.ResourceVersion}
	if isWritten && written.reference.UID == there.uid && version.isNewerThan(there.facts) {
		return written
	}
	keys := m.trace.changes.Keys()
	return seen{
		reference: cpid.Reference{UID: there.uid, ResourceVersion: there.facts.version},
		carried:   m.trace.changes.Extract(map[string]string{keys.CPID: there.facts.cpid, keys.Ancestors: there.ancestors}),
	}
}

// uidAt is the uid of the object of this name in an informer; empty without one.
func (m *memory) uidAt(at place) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.objects[at].uid
}

func (m *memory) noteWritten(at place, s seen) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.written.Set(at, s)
}

func (m *memory) forgetWritten(at place) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.written.Delete(at)
}

// tombstone returns the last version of a deleted object.
func (m *memory) tombstone(kind schema.GroupKind, key client.ObjectKey) (seen, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tombstones.Get(place{kind, key.Namespace, key.Name})
}

// noteSeen notes the change of a version if its annotations lack it.
func (t *Trace) noteSeen(object client.Object, s seen, f facts, before *remembered) {
	deletion, isDeleted := t.known.ofDeletion(s.reference.UID)
	begins := f.isGoing && (before != nil && !before.facts.isGoing || before == nil && t.isNamespace(object))
	if !isDeleted && begins {
		deletion, isDeleted = t.deletionOf(object, s, before)
	}
	if isDeleted {
		t.known.noteDeletion(s.reference.UID, deletion)
	}
	// The objects of a namespace are deleted some seconds after the namespace begins to terminate.
	if t.isNamespace(object) {
		t.known.noteEnd(object.GetName(), deletion, isDeleted && f.isGoing)
	}
	if own, ok := t.known.ofVersion(s.reference); ok {
		t.known.noteCurrent(s.reference, &own)
		return
	}
	if isDeleted {
		if before != nil && before.facts.isGoing && before.facts.cpid != f.cpid && !s.carried.IsZero() {
			deletion = cause{Context: s.carried}
		}
		t.known.noteCurrent(s.reference, &deletion)
		return
	}
	var earlier *facts
	isAnnounced := false
	if before != nil {
		earlier, isAnnounced = &before.facts, t.now().Before(before.announcedUntil)
	}
	if f.isByAnother(earlier) && !isAnnounced {
		begun := t.begin(s, "write", f.foreignWriter(earlier))
		t.known.noteCurrent(s.reference, &begun)
		return
	}
	if current, ok := t.known.ofCurrent(s.reference.UID); ok && before != nil && before.facts.cpid == f.cpid {
		t.known.noteCurrent(s.reference, &current)
		return
	}
	t.known.noteCurrent(s.reference, nil)
}

// deletionOf is the change of a deletion: that of a matching DeleteAllOf of this process; else of the deletion of its owner; else the one
// that the deleter marked on it; else of its namespace; else a new root. None for objects of unpatched controllers, which delete them too.
func (t *Trace) deletionOf(object client.Object, s seen, before *remembered) (cause, bool) {
	if before == nil || !before.facts.isGoing {
		if c, ok := t.collections.of(t.kinds.of(object).GroupKind(), object, t.now()); ok {
			return c, true
		}
	}
	for _, owner := range object.GetOwnerReferences() {
		if c, ok := t.known.ofDeletion(string(owner.UID)); ok {
			return c, true
		}
	}
	isSaid := before != nil && (before.facts.isGoing || before.isMarked)
	if c, ok := t.known.ofEnd(object.GetNamespace()); ok && !isSaid {
		return c, true
	}
	if before == nil && t.isNamespace(object) {
		return t.begin(s, "delete", ""), true
	}
	if before == nil || before.facts.isOfUnpatched() {
		return cause{}, false
	}
	if isSaid {
		if c, ok := t.known.ofCurrent(s.reference.UID); ok {
			return c, true
		}
		return cause{Context: s.carried}, !s.carried.IsZero()
	}
	return t.begin(s, "delete", ""), true
}

func (t *Trace) isNamespace(object client.Object) bool {
	return t.kinds.of(object).GroupKind() == schema.GroupKind{Kind: "Namespace"}
}

// begin begins a change of a writer without CPIDs. Every process that sees the version, also after a restart, derives the same CPID. It is
// reported once it causes something: most objects of an informer's list cause nothing.
func (t *Trace) begin(s seen, verb, writer string) cause {
	change := cpid.Context{CPID: cpid.DerivedRoot(t.settings.Cluster, s.reference.UID, s.reference.ResourceVersion)}
	at := t.now()
	return cause{change, sync.OnceFunc(func() {
		detail := changes.Detail{Object: s.reference, Reason: "unattributed writer", Writer: writer}
		t.changes.Tell(context.Background(), cpid.Mergelog{CPID: change.CPID}, detail, at)
		_, span := t.tracer().Start(context.Background(), verb+" "+s.reference.APIVersion+"/"+s.reference.Resource,
			trace.WithNewRoot(), trace.WithTimestamp(at), trace.WithAttributes(append(changeAttributes(change),
				attribute.StringSlice(attributeWrote, []string{s.reference.String()}))...))
		span.End(trace.WithTimestamp(at))
	})}
}

func (t *Trace) now() time.Time {
	if t.settings.Now != nil {
		return t.settings.Now()
	}
	return time.Now()
}
