package cpid

// MaxSources is how many sources a mergelog has at most unless said otherwise: what Causeway takes.
const MaxSources = 1024

// Mergelog says that these changes merged into this new one. Without sources a root change begins.
type Mergelog struct {
	CPID    string
	Sources []string
}

// InSteps gives mergelogs that together say what one does, none with more than maxSources sources, from 2: where there are more,
// groups of them merge into CPIDs of their own first. The one that makes the CPID comes last.
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
