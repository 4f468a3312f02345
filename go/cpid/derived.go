package cpid

import (
	"crypto/sha256"
	"strings"
)

// DerivedRoot is the CPID of a change by a writer that carries none: everybody who sees this version of the object, Causeway too,
// gives it the same one. It is a UUID of version 8 (RFC 9562) out of SHA-256.
func DerivedRoot(cluster, uid, resourceVersion string) string {
	digest := sha256.Sum256([]byte(strings.Join([]string{"root", cluster, uid, resourceVersion}, "\x00")))
	return textOf([16]byte(digest[:16]), 8)
}
