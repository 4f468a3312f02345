package cpid

import (
	"maps"
	"strings"
)

// Keys are the annotations that carry a trace context. Use the same in every controller of a cluster.
type Keys struct{ CPID, Ancestors string }

// DefaultKeys are the default annotations.
var DefaultKeys = Keys{CPID: "causeway.io/cpid", Ancestors: "causeway.io/ancestor-cpids"}

// The API server's limit for the keys and values of all annotations of an object, in bytes.
const maxAnnotationBytes = 256 * 1024

// Extract reads the trace context of an object's annotations; zero without a valid CPID.
func Extract(annotations map[string]string, keys Keys, maxAncestors int) Context {
	id, ok := Parse(annotations[keys.CPID])
	if !ok {
		return Context{}
	}
	return Context{id, readAncestors(annotations[keys.Ancestors], id, maxAncestors)}
}

// Inject returns a copy of the annotations that carries the trace context; all others stay. The list of ancestors is always written, so
// that it replaces an earlier list, also in a patch. If the annotations would exceed the API server's limit, the ancestors are left out,
// or else the annotations are returned unchanged.
func Inject(c Context, annotations map[string]string, keys Keys, maxAncestors int) map[string]string {
	if c.IsZero() {
		return annotations
	}
	marked := make(map[string]string, len(annotations)+2)
	maps.Copy(marked, annotations)
	marked[keys.CPID] = c.CPID
	marked[keys.Ancestors] = strings.Join(c.Ancestors[:min(len(c.Ancestors), maxAncestors)], ",")
	if fits(marked) {
		return marked
	}
	if marked[keys.Ancestors] = ""; fits(marked) {
		return marked
	}
	return annotations
}

func fits(annotations map[string]string) bool {
	bytes := 0
	for key, value := range annotations {
		bytes += len(key) + len(value)
	}
	return bytes <= maxAnnotationBytes
}
