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

// cause is a change that work follows from. If it is not reported yet, tell reports it; tell may be called repeatedly and concurrently.
type cause struct {
	cpid.Context
	tell func()
}

func (c cause) use() {
	if c.tell != nil {
		c.tell()
	}
}

// seen has the used parts of one version of an object.
type seen struct {
	reference  cpid.Reference
	carried    cpid.Context
	generation int64
}

// known remembers the changes of objects whose annotations lack them: of versions whose annotations the API server left unchanged, and of
// objects that are being deleted.
type known struct {
	mu        sync.Mutex
	current   map[string]versioned // the newest version in an informer, by uid; the memory forgets it with the object
	versions  *bounded.Map[string, cause]
	deletions *bounded.Map[string, cause]
	ends      *bounded.Map[string, cause] // deletions of terminating namespaces, by name
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

// of returns the remembered change of a version, else of the object's deletion, else the one in its annotations.
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

// ofCurrent returns the change of the version that an informer holds.
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

// noteCurrent sets the version that an informer holds; c is nil if its annotations have the change. The previous version is remembered for
// a while.
func (k *known) noteCurrent(r cpid.Reference, c *cause) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forget(r)
	if c != nil {
		k.current[r.UID] = versioned{r.ResourceVersion, *c}
	}
}

// forgetCurrent is called when no informer holds the object any more.
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

// ofEnd returns the deletion of a namespace; false if it is not terminating or no informer follows namespaces.
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
