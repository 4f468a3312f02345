package cpid

// MaxSources is the default limit of a mergelog's sources, as in Causeway.
const MaxSources = 1024

// Mergelog says that these changes merged into this new one. Without sources a root change begins.
type Mergelog struct {
	CPID    string
	Sources []string
}

// InSteps splits a mergelog into several with at most maxSources sources each (at least 2): groups of sources first merge into
// intermediate CPIDs. The mergelog of the CPID itself comes last.
func (m Mergelog) InSteps(maxSources int, newCPID func() string) []Mergelog {
	var steps []Mergelog
	left := m.Sources
	for len(left) > maxSources {
		var merged []string
		for start := 0; start < len(left); start += maxSources {
			group := left[start:min(start+maxSources, len(left))]
			if len(group) == 1 {
				merged = append(merged, group[0])
				continue
			}
			step := Mergelog{newCPID(), group}
			steps = append(steps, step)
			merged = append(merged, step.CPID)
		}
		left = merged
	}
	return append(steps, Mergelog{m.CPID, left})
}
