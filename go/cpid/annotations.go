package cpid

import (
	"maps"
	"strings"
)

// Keys are the annotations that carry a trace context. They are the same in every controller of a cluster.
type Keys struct{ CPID, Ancestors string }

// DefaultKeys are the annotations unless said otherwise.
var DefaultKeys = Keys{CPID: "causeway.io/cpid", Ancestors: "causeway.io/ancestor-cpids"}

// The keys and values of all annotations of an object together may have so many bytes.
const maxAnnotationBytes = 256 * 1024

// Extract reads the trace context of an object's annotations. It is zero where they have no CPID that is a UUID.
func Extract(annotations map[string]string, keys Keys, maxAncestors int) Context {
	id, ok := Parse(annotations[keys.CPID])
	if !ok {
		return Context{}
	}
	return Context{id, readAncestors(annotations[keys.Ancestors], id, maxAncestors)}
}

// Inject gives a copy of the annotations that carries the trace context; all others stay. The list of ancestors is always written,
// so that in a patch too it replaces that of an earlier change. Where the annotations would grow beyond what the API server takes,
// the ancestors stay out, or else the annotations are returned as they are.
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
