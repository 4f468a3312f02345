package causeway

import (
	"sync"

	"causeway/cpid"
	"causeway/internal/bounded"
)

const (
	mostVersions  = 16_384
	mostDeletions = 4_096
)

// cause is a change that work follows from. Of some that nobody told of, tell does so; it may be called often, and by many.
type cause struct {
	cpid.Context
	tell func()
}

func (c cause) use() {
	if c.tell != nil {
		c.tell()
	}
}

// seen is what is looked at of one version of an object.
type seen struct {
	reference  cpid.Reference
	carried    cpid.Context
	generation int64
}

// known is what this process knows of the changes of objects beside what their annotations say: of a version whose annotations the
// API server left as they were, and of objects that are being deleted.
type known struct {
	mu        sync.Mutex
	current   map[string]versioned // the newest version in an informer, by uid; the memory forgets it with the object
	versions  *bounded.Map[string, cause]
	deletions *bounded.Map[string, cause]
	ends      *bounded.Map[string, cause] // of namespaces that go, by name
}

type versioned struct {
	version string
	cause   cause
}

func newKnown() *known {
	return &known{
		current:   map[string]versioned{},
		versions:  bounded.NewMap[string, cause](mostVersions, nil),
		deletions: bounded.NewMap[string, cause](mostDeletions, nil),
		ends:      bounded.NewMap[string, cause](mostDeletions, nil),
	}
}

// of gives what is known of a version, else of the object's deletion, else what its annotations say.
func (k *known) of(s seen) cause {
	k.mu.Lock()
	defer k.mu.Unlock()
	if found, ok := k.version(s.reference); ok {
		return found
	}
	if found, ok := k.deletions.Get(s.reference.UID); ok && s.reference.UID != "" {
		return found
	}
	return cause{Context: s.carried}
}

func (k *known) ofVersion(r cpid.Reference) (cause, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.version(r)
}

func (k *known) version(r cpid.Reference) (cause, bool) {
	if r.UID == "" || r.ResourceVersion == "" {
		return cause{}, false
	}
	if current, ok := k.current[r.UID]; ok && current.version == r.ResourceVersion {
		return current.cause, true
	}
	return k.versions.Get(keyOf(r))
}

// ofCurrent is of the version that an informer holds.
func (k *known) ofCurrent(uid string) (cause, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	current, ok := k.current[uid]
	return current.cause, ok
}

func (k *known) ofDeletion(uid string) (cause, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.deletions.Get(uid)
}

func (k *known) noteVersion(r cpid.Reference, c cause) {
	if r.UID == "" || r.ResourceVersion == "" {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if current, ok := k.current[r.UID]; ok && current.version == r.ResourceVersion {
		k.current[r.UID] = versioned{r.ResourceVersion, c}
		return
	}
	k.versions.Set(keyOf(r), c)
}

// noteCurrent notes the version that an informer holds from now on; no cause where the object itself says it. The one before stays
// known for a while.
func (k *known) noteCurrent(r cpid.Reference, c *cause) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forget(r)
	if c != nil {
		k.current[r.UID] = versioned{r.ResourceVersion, *c}
	}
}

// forgetCurrent says that no informer holds the object any more.
func (k *known) forgetCurrent(uid string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forget(cpid.Reference{UID: uid})
}

func (k *known) forget(r cpid.Reference) {
	before, ok := k.current[r.UID]
	if !ok {
		return
	}
	delete(k.current, r.UID)
	if before.version != r.ResourceVersion {
		k.versions.Set(keyOf(cpid.Reference{UID: r.UID, ResourceVersion: before.version}), before.cause)
	}
}

func (k *known) noteDeletion(uid string, c cause) {
	if uid == "" {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.deletions.Set(uid, c)
}

func (k *known) forgetDeletion(uid string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.deletions.Delete(uid)
}

// ofEnd is of the end of a namespace; false where no informer follows namespaces, or it does not end.
func (k *known) ofEnd(namespace string) (cause, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ends.Get(namespace)
}

func (k *known) noteEnd(namespace string, c cause, isGoing bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if isGoing {
		k.ends.Set(namespace, c)
	} else {
		k.ends.Delete(namespace)
	}
}

func keyOf(r cpid.Reference) string { return r.UID + "/" + r.ResourceVersion }
