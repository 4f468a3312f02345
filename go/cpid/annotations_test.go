package cpid_test

import (
	"maps"
	"strings"
	"testing"

	"causeway/cpid"
)

const (
	one   = "00000000-0000-4000-8000-000000000001"
	other = "00000000-0000-4000-8000-000000000002"
)

// An object may have 256 KiB of annotations, as keys and values count.
func TestAnObjectAtItsLimitStaysOneThatIsTaken(t *testing.T) {
	const limit = 256 * 1024
	keys := cpid.DefaultKeys
	change := cpid.Context{CPID: one, Ancestors: []string{other}}
	own := len(keys.CPID) + len(one) + len(keys.Ancestors)
	for _, given := range []struct {
		name  string
		left  int
		wants map[string]string
	}{
		{"room for all", own + len(other), map[string]string{keys.CPID: one, keys.Ancestors: other}},
		{"room for the CPID alone", own + len(other) - 1, map[string]string{keys.CPID: one, keys.Ancestors: ""}},
		{"room for nothing", own - 1, map[string]string{}},
	} {
		t.Run(given.name, func(t *testing.T) {
			before := map[string]string{"much": strings.Repeat("x", limit-len("much")-given.left)}
			marked := cpid.Inject(change, before, keys, 10)
			if len(before) != 1 {
				t.Error("what was given is changed")
			}
			given.wants["much"] = before["much"]
			if !maps.Equal(marked, given.wants) {
				t.Errorf("%d annotations are written, of which the CPID is %q", len(marked), marked[keys.CPID])
			}
		})
	}
}

func TestAnnotationsThatOthersBrokeAreReadOrPassedOver(t *testing.T) {
	keys := cpid.DefaultKeys
	for text, want := range map[string]string{
		"": "", "no CPID": "", "00000000-0000-0000-0000-000000000000": "", strings.Repeat("0", 1<<20): "",
		one[:35]: "", one + one: "", "\xff\xfe": "", strings.ToUpper(other): other,
		" " + strings.ReplaceAll(other, "-", "") + "\n": other, strings.Replace(other, "-", "", 1): "", "0000-" + other[4:8] + other[9:]: "",
	} {
		if read := cpid.Extract(map[string]string{keys.CPID: text}, keys, 10); read.CPID != want {
			t.Errorf("%.40q is read as %q", text, read.CPID)
		}
	}
	for text, want := range map[string]int{
		"": 0, ",,,": 0, "x," + other + ",\xff": 1, strings.Repeat(other+",", 100_000): 1, one + "," + other: 1,
	} {
		read := cpid.Extract(map[string]string{keys.CPID: one, keys.Ancestors: text}, keys, 10)
		if len(read.Ancestors) != want {
			t.Errorf("%.60q is read as %d ancestors", text, len(read.Ancestors))
		}
	}
}

// Other controllers of the cluster may carry more ancestors, or fewer: each controller keeps its own limit.
func TestHowManyAncestorsAreCarriedMayDiffer(t *testing.T) {
	keys := cpid.DefaultKeys
	change := cpid.Context{CPID: one}
	for at := range 50 {
		change.Ancestors = append(change.Ancestors, cpid.DerivedRoot("cluster", "uid", strings.Repeat("1", at+1)))
	}
	annotations := cpid.Inject(change, nil, keys, 50)
	for most := range 12 {
		read := cpid.Extract(annotations, keys, most)
		if len(read.Ancestors) != most {
			t.Errorf("%d ancestors are read, where %d are carried", len(read.Ancestors), most)
		}
		again := cpid.Extract(cpid.Inject(read, annotations, keys, most), keys, 50)
		if len(again.Ancestors) != most {
			t.Errorf("%d ancestors are left of %d", len(again.Ancestors), most)
		}
	}
}
