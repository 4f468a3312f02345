package cpid

import (
	"crypto/sha256"
	"strings"
)

// DerivedRoot is the CPID of a change by a writer without CPIDs. Every observer of this version of the object, including Causeway,
// derives the same one: a UUID of version 8 (RFC 9562) from SHA-256.
func DerivedRoot(cluster, uid, resourceVersion string) string {
	digest := sha256.Sum256([]byte(strings.Join([]string{"root", cluster, uid, resourceVersion}, "\x00")))
	return textOf([16]byte(digest[:16]), 8)
}
