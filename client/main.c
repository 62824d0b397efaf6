#include "client/perfctl.h"

int main(int argc, char **argv) {
        return perfctl_main(argc, argv);
}
