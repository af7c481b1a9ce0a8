package pattern_test

import (
	"fmt"

	"pmdaderived/derived/pattern"
)

func Example() {
	re, err := pattern.Compile("^(sd|nvme)[[:alnum:]]+$")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, disk := range []string{"sda", "nvme0n1", "loop0"} {
		fmt.Println(disk, re.MatchString(disk))
	}
	// Output:
	// sda true
	// nvme0n1 true
	// loop0 false
}
